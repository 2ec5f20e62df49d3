/* The first thread ends; when it is dead the second one works, three times. Exits 3. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int count;

__attribute__((noinline)) void work(void)
{
    count++; /* mark: work */
}

static int is_dead(int tid)
{
    char path[64], state = 'Z';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *stat = fopen(path, "r");
    if (stat) {
        if (fscanf(stat, "%*d %*s %c", &state) != 1)
            state = 'Z';
        fclose(stat);
    }
    return state == 'Z';
}

static void *second(void *unused)
{
    (void)unused;
    while (!is_dead(getpid()))
        usleep(1000);
    for (int round = 0; round < 3; round++)
        work();
    exit(count);
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, second, NULL);
    pthread_exit(NULL);
}
