/* Handles SIGUSR1 sent by raise, kill and tgkill. Usage: signals [ROUNDS=3]. Exits 0 when each signal was handled, else 1. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

volatile sig_atomic_t handled;

static void on_usr1(int signal)
{
    (void)signal;
    handled++; /* mark: in-handler */
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 3;
    struct sigaction action = {.sa_handler = on_usr1};
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < rounds; i++) {
        if (i % 3 == 0)
            raise(SIGUSR1); /* mark: raise */
        else if (i % 3 == 1)
            kill(getpid(), SIGUSR1);
        else
            syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
    }
    printf("sent %d handled %d\n", rounds, (int)handled);
    return handled == rounds ? 0 : 1; /* mark: done */
}
