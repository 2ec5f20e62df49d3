/* Recovers from its own SIGSEGV with siglongjmp. Exits 0 when the handler ran, 1 when it did not. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;
volatile sig_atomic_t faults;

static void on_segv(int signal)
{
    (void)signal;
    faults++;
    siglongjmp(back, 1); /* mark: in-handler */
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_segv};
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)8 = 1; /* mark: fault */
    printf("recovered from %d faults\n", (int)faults);
    return faults == 1 ? 0 : 1;
}
