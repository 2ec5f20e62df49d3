/* A library that dlopen.c loads: one function, one variable. */
int plugin_calls;

int plugin_run(int x)
{
    plugin_calls++;
    return x + 100; /* mark: run */
}
