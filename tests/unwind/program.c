/* What an unwinder meets: recursion, callbacks from a library, frames of unknown size, registers in use,
   tail calls, lazy binding, and a signal handler on a stack of its own. */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

volatile long sink;

static __attribute__((noinline)) long leaf(long x) { return x * 3 + 1; }

static __attribute__((noinline)) long recurse(long depth, long a, long b, long c) {
    if (depth == 0)
        return leaf(a + b + c);
    long inner = recurse(depth - 1, b, c, a);
    return inner + a * b - c + depth;
}

static __attribute__((noinline)) long sized(unsigned long n) {
    char *room = alloca(n);
    memset(room, 1, n);
    sink = room[n / 2];
    return leaf(room[0]);
}

static __attribute__((noinline)) long tail(long x) { return sized((unsigned long)leaf(x)); }

static int by_value(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    sink = leaf(x);
    return (x > y) - (x < y);
}

static void on_signal(int number) { sink = recurse(2, number, 1, 2); }

static char other_stack[65536];

int main(void) {
    int values[] = {5, 3, 9, 1};
    sink = recurse(3, 1, 2, 3);
    sink = tail(7);
    qsort(values, 4, sizeof *values, by_value);
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&stack, 0);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    action.sa_flags = 0;
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    return values[0] == 1 ? 42 : 1;
}
