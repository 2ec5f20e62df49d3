/* Workers call one function a known number of times each. Usage: threads [WORKERS=3] [CALLS=4]. Exits 0 when the total is right, else 1. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_WORKERS = 64 };

atomic_long total;
static int calls;

void worker_step(long id)
{
    atomic_fetch_add(&total, id); /* mark: worker-step */
}

static void *worker(void *argument)
{
    long id = (long)argument;
    char name[16];
    snprintf(name, sizeof name, "worker-%ld", id);
    pthread_setname_np(pthread_self(), name);
    for (int i = 0; i < calls; i++)
        worker_step(id);
    return NULL;
}

int main(int argc, char **argv)
{
    int workers = argc > 1 ? atoi(argv[1]) : 3;
    calls = argc > 2 ? atoi(argv[2]) : 4;
    if (workers < 1 || workers > MAX_WORKERS)
        return 2;
    pthread_t threads[MAX_WORKERS];
    long expected = 0;
    for (long id = 1; id <= workers; id++) {
        pthread_create(&threads[id - 1], NULL, worker, (void *)id);
        expected += id * calls;
    }
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL); /* mark: join */
    printf("workers %d total %ld\n", workers, atomic_load(&total));
    return atomic_load(&total) == expected ? 0 : 1; /* mark: done */
}
