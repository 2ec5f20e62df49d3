/* Reads from a pipe that only its handler of SIGUSR1 writes to, by a system call that can be named. Exits 0 after the signal. */
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2];

static void on_signal(int number)
{
    (void)number;
    if (write(ends[1], "x", 1) != 1)
        _exit(1);
}

__attribute__((noinline)) static long read_one(char *byte)
{
    long result;
    __asm__ volatile(".globl the_read\nthe_read: syscall"
                     : "=a"(result)
                     : "a"(SYS_read), "D"(ends[0]), "S"(byte), "d"(1)
                     : "rcx", "r11", "memory");
    return result;
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: the read is interrupted */
    sigaction(SIGUSR1, &action, NULL);
    if (pipe(ends) != 0)
        return 1;
    char byte = 0;
    printf("read %ld\n", read_one(&byte));
    return 0;
}
