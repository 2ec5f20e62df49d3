/* Tries to leave its tracer: clone with CLONE_UNTRACED, clone3, ptrace of its parent, PTRACE_TRACEME. Prints each
   answer. Exits with the number of attempts that were not refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int report(const char *attempt, long result)
{
    printf("%s %s\n", attempt, result < 0 ? strerrorname_np(errno) : "worked");
    fflush(stdout);
    return result >= 0;
}

static int report_child(const char *attempt, long child)
{
    if (child == 0)
        _exit(0);
    int escaped = report(attempt, child);
    if (escaped)
        waitpid((pid_t)child, NULL, __WALL);
    return escaped;
}

int main(void)
{
    struct clone_args arguments = {.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD};
    int escapes = 0;
    escapes += report_child("clone", syscall(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, 0, 0));
    escapes += report_child("clone3", syscall(SYS_clone3, &arguments, sizeof arguments));
    escapes += report("seize", ptrace(PTRACE_SEIZE, getppid(), 0, 0));
    escapes += report("traceme", ptrace(PTRACE_TRACEME, 0, 0, 0));
    return escapes;
}
