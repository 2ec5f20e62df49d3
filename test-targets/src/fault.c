/* Raises one hardware fault by name: segv-read segv-write segv-exec fpe ill bus. Dies of that signal; exits 2 for any other name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

volatile int zero;

static void bus(void)
{
    char path[] = "/dev/shm/llmdbg-bus-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0) {
        strcpy(path, "./llmdbg-bus-XXXXXX");
        fd = mkstemp(path);
    }
    unlink(path);
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    (void)page[0]; /* mark: bus */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    printf("fault %s\n", what);
    fflush(stdout);
    if (strcmp(what, "segv-read") == 0)
        (void)*(volatile int *)16; /* mark: segv-read */
    else if (strcmp(what, "segv-write") == 0)
        *(volatile int *)16 = 1; /* mark: segv-write */
    else if (strcmp(what, "segv-exec") == 0)
        ((void (*)(void))32)(); /* mark: segv-exec */
    else if (strcmp(what, "fpe") == 0)
        printf("%d\n", 100 / zero); /* mark: fpe */
    else if (strcmp(what, "ill") == 0)
        __asm__ volatile("ud2"); /* mark: ill */
    else if (strcmp(what, "bus") == 0)
        bus();
    return 2;
}
