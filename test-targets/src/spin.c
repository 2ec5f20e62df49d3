/* Says so, then spins for ever without a system call; ends only by a signal or when `stop` is written. Exits 4. */
#include <stdio.h>

volatile int stop;
volatile unsigned long rounds;

int main(void)
{
    puts("spinning");
    fflush(stdout);
    for (; !stop; rounds++); /* mark: spin */
    printf("stopped\n");
    return 4;
}
