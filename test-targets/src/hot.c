/* An endless tight loop of seven instructions with one store: what the step benchmarks step through. Never exits. */
unsigned long sink;

int main(void)
{
    for (unsigned long i = 0;; i++)
        *(volatile unsigned long *)&sink = i ^ (i >> 3); /* mark: hot */
}
