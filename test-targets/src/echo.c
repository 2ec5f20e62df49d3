/* Prints its arguments, the LLMDBG_TEST_* environment and its directory. Exits with the number of arguments. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    char cwd[4096];
    for (int i = 0; i < argc; i++)
        printf("arg %d %s\n", i, argv[i]);
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, "LLMDBG_TEST_", 12) == 0)
            printf("env %s\n", *entry);
    printf("cwd %s\n", getcwd(cwd, sizeof cwd) ? cwd : "unknown");
    return argc - 1; /* mark: done */
}
