/* Touches the last usable byte of a stack, given as a hexadecimal address on stdin, and dies on the one below.
   Usage: overflow main | thread. Killed by SIGSEGV. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void touch(volatile char *last)
{
    *last = 1;
    puts("last usable byte written"); /* mark: survived */
    fflush(stdout);
    last[-1] = 1; /* mark: dies */
    puts("one below written too");
}

static void *work(void *unused)
{
    unsigned long last = 0;
    puts("address?"); /* mark: ask */
    fflush(stdout);
    if (scanf("%lx", &last) != 1)
        exit(2);
    touch((volatile char *)last);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 1 && strcmp(argv[1], "thread") == 0) {
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    } else {
        work(NULL);
    }
    return 0;
}
