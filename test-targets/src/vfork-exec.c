/* vforks a child that executes `exit-code 6` from its own directory and waits for it. Exits with the child's code. */
#include "beside.h"
#include <sys/wait.h>

int main(void)
{
    char path[4096];
    beside(path, sizeof path, "exit-code");
    pid_t child = vfork(); /* mark: vfork */
    if (child == 0) {
        execl(path, "exit-code", "6", (char *)NULL);
        _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child exited %d\n", WEXITSTATUS(status));
    return WEXITSTATUS(status); /* mark: done */
}
