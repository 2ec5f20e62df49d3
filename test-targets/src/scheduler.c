/* A scheduler that keeps its stack pointer per thread, counts three ticks and sends itself an ignored signal. Usage: scheduler [quiet]. Exits 0. */
#include <signal.h>
#include <stdio.h>

_Thread_local unsigned long SCHEDULER_SP;
long ticks;
const char name[] = "scheduler";

void tick(const char *who, long by)
{
    ticks += by; /* mark: tick */
    (void)who;
}

int main(int argc, char **argv)
{
    int here;
    SCHEDULER_SP = (unsigned long)&here; /* mark: main */
    signal(SIGUSR1, SIG_IGN);            /* mark: ready */
    for (long by = 1; by <= 3; by++)
        tick(name, by);
    raise(SIGUSR1);
    if (argc == 1 || !argv[1])
        printf("%s %ld\n", name, ticks); /* mark: done */
    return 0;
}
