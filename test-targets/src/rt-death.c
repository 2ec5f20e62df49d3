/* Dies of an unhandled real-time signal, SIGRTMIN+5. */
#include <signal.h>
#include <stdio.h>

int main(void)
{
    puts("dying of SIGRTMIN+5");
    fflush(stdout);
    raise(SIGRTMIN + 5);
    return 0;
}
