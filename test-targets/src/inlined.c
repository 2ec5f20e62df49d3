/* Built with -O2: a call chain that is inlined, a tail call and a function that stays. Exits 0. */
#include <stdio.h>
#include <stdlib.h>

volatile int sink;

static inline __attribute__((always_inline)) int inner(int x)
{
    sink = x; /* mark: inner */
    return x * 2;
}

static inline __attribute__((always_inline)) int middle(int x)
{
    return inner(x + 1) + 1; /* mark: middle */
}

__attribute__((noinline)) int outer(int x)
{
    return middle(x) + middle(x + 10); /* mark: outer */
}

__attribute__((noinline)) int tail(int x)
{
    return outer(x + sink); /* mark: tail */
}

int main(int argc, char **argv)
{
    (void)argv;
    printf("outer %d tail %d\n", outer(argc), tail(argc));
    return 0; /* mark: done */
}
