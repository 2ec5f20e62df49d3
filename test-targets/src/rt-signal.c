/* Queues real-time signals to itself with values and counts what arrives. Exits 0 when all five came in order, else 1. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

volatile sig_atomic_t received, last_value, in_order = 1;

static void on_rt(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    in_order &= info->si_value.sival_int == last_value + 1;
    last_value = info->si_value.sival_int;
    received++; /* mark: in-handler */
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_rt, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 3, &action, NULL);
    for (int i = 1; i <= 5; i++) {
        union sigval value = {.sival_int = i};
        sigqueue(getpid(), SIGRTMIN + 3, value); /* mark: queue */
    }
    printf("received %d last %d\n", (int)received, (int)last_value);
    return received == 5 && in_order ? 0 : 1; /* mark: done */
}
