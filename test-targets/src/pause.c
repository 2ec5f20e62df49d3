/* Prints its pid and blocks for ever in pause(2); SIGTERM ends it with code 5. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_term(int signal)
{
    (void)signal;
    _exit(5);
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    printf("pid %d\n", (int)getpid());
    fflush(stdout);
    for (;;)
        pause(); /* mark: blocked */
}
