/* Sends itself SIGKILL: it dies in the middle of whatever watches it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    puts("goodbye");
    fflush(stdout);
    kill(getpid(), SIGKILL); /* mark: kill */
    return 0;
}
