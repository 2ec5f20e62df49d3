/* A second thread replaces the process by `exit-code 8`: the pid stays, the thread ids do not. Exits 8. */
#include "beside.h"
#include <pthread.h>

static void *replace(void *path)
{
    execl(path, "exit-code", "8", (char *)NULL); /* mark: exec */
    _exit(127);
}

int main(void)
{
    char path[4096];
    pthread_t thread;
    beside(path, sizeof path, "exit-code");
    pthread_create(&thread, NULL, replace, path);
    pthread_join(thread, NULL);
    return 1;
}
