/* Forks; both sides call one function and print; the parent waits. Exits 0; the child exits 9. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int greet(const char *who)
{
    printf("hello from the %s\n", who); /* mark: greet */
    return fflush(stdout);
}

int main(void)
{
    pid_t child = fork(); /* mark: fork */
    if (child == 0) {
        greet("child");
        _exit(9);
    }
    int status = 0;
    waitpid(child, &status, 0);
    greet("parent");
    printf("child exited %d\n", WEXITSTATUS(status)); /* mark: done */
    return 0;
}
