/* Thread-local variables of a program and of two threads; each thread sets its own. Ends with 0. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

_Thread_local int count = 7;
_Thread_local uint64_t large = 0x8000000000000001;
static _Thread_local unsigned char small;
_Thread_local char text[24] = "own";

static void *work(void *value)
{
    count = *(int *)value;
    small = 9;
    large += small; /* mark: in-thread */
    return NULL;
}

int main(void)
{
    small = 200; /* mark: before */
    int value = 42;
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, &value) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    printf("count %d small %d text %s\n", count, small, text); /* mark: after */
    return 0;
}
