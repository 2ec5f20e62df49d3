/* Recurses to a known depth and back. Usage: recursion [DEPTH=10]. Exits 0. */
#include <stdio.h>
#include <stdlib.h>

int deepest;

long sum_to(int n)
{ /* mark: sum-to */
    if (n == 0) {
        deepest = 1; /* mark: bottom */
        return 0;
    }
    long below = sum_to(n - 1); /* mark: descend */
    return below + n;           /* mark: ascend */
}

int main(int argc, char **argv)
{
    int depth = argc > 1 ? atoi(argv[1]) : 10; /* mark: main */
    printf("sum 1..%d = %ld\n", depth, sum_to(depth)); /* mark: call */
    return 0;
}
