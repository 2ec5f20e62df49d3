/* Output of one shape: lines N | binary | no-newline | both | big BYTES | long BYTES | same N. Exits 0; 2 for any other word. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void both(void)
{
    /* One after the other: between two pipes there is no order that a reader could know. */
    for (int i = 1; i <= 3; i++)
        dprintf(STDOUT_FILENO, "to stdout %d\n", i);
    for (int i = 1; i <= 3; i++)
        dprintf(STDERR_FILENO, "to stderr %d\n", i);
}

static void numbered(long bytes)
{
    for (long done = 0; done < bytes; done += 64)
        printf("%011ld abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNO\n", done);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 3;
    if (strcmp(what, "lines") == 0) {
        for (long i = 1; i <= n; i++)
            printf("line %ld\n", i);
    } else if (strcmp(what, "same") == 0) {
        for (long i = 1; i <= n; i++)
            puts("the same line");
    } else if (strcmp(what, "binary") == 0) {
        for (int byte = 0; byte < 256; byte++)
            putchar(byte);
    } else if (strcmp(what, "no-newline") == 0) {
        fputs("no newline at the end", stdout);
    } else if (strcmp(what, "both") == 0) {
        both();
    } else if (strcmp(what, "big") == 0) {
        numbered(n);
    } else if (strcmp(what, "long") == 0) {
        for (long i = 0; i < n; i++)
            putchar('a' + (int)(i % 26));
        putchar('\n');
    } else {
        fputs("output: what?\n", stderr);
        return 2;
    }
    fflush(stdout);
    return 0; /* mark: done */
}
