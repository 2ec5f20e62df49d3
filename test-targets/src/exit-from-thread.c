/* A second thread ends the whole process while the first one waits for it. Exits 11. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *leave(void *unused)
{
    (void)unused;
    puts("leaving");
    exit(11); /* mark: exit */
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, leave, NULL);
    pthread_join(thread, NULL);
    return 1;
}
