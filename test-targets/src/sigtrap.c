/* Traps that are the program's own: raise(SIGTRAP) and a hard-coded int3, both handled. Exits 0 when it saw both, else 1. */
#include <signal.h>
#include <stdio.h>

volatile sig_atomic_t traps;

static void on_trap(int signal)
{
    (void)signal;
    traps++; /* mark: in-handler */
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_trap};
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP); /* mark: raise */
    printf("after raise %d\n", (int)traps);
    fflush(stdout);
    __asm__ volatile("int3"); /* mark: int3 */
    printf("after int3 %d\n", (int)traps); /* mark: after-int3 */
    return traps == 2 ? 0 : 1;
}
