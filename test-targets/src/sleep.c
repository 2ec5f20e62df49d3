/* Sleeps for an hour in clock_nanosleep(2). Exits 0. */
#include <stdio.h>
#include <time.h>

int main(void)
{
    struct timespec hour = {.tv_sec = 3600};
    puts("sleeping");
    fflush(stdout);
    nanosleep(&hour, NULL); /* mark: asleep */
    return 0;
}
