/* Two threads vfork again and again, for different times, so that their children overlap; each child runs code that
   its parents run too. Exits 0 when every child ended as it should. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 20 };
static int failed[2];

__attribute__((noinline)) int work(int value)
{
    return value + 1; /* mark: work */
}

static void *parent(void *number)
{
    long self = (long)number;
    for (int round = 0; round < ROUNDS; round++) {
        work(round);
        pid_t child = vfork();
        if (child == 0) {
            work(1);
            usleep(self == 0 ? 1000 : 3300);
            _exit(work(4));
        }
        int status = 0;
        waitpid(child, &status, 0);
        failed[self] += WEXITSTATUS(status) != 5;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (long number = 0; number < 2; number++)
        pthread_create(&threads[number], NULL, parent, (void *)number);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], NULL);
    printf("failed %d\n", failed[0] + failed[1]);
    return failed[0] + failed[1];
}
