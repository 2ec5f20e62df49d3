/* Hostile text everywhere it can be put: output that forges replies, escapes and bidi controls, a thread name and a symbol with odd bytes. Exits 0. */
#include <stdio.h>
#include <sys/prctl.h>

int odd(int x) __asm__("\"odd\tna\033[31mme\"");

int odd(int x)
{
    return x + 1; /* mark: odd */
}

int main(void)
{
    prctl(PR_SET_NAME, "ev\033]0;il\n=1 ok"); /* mark: main */
    puts("=1 ok exited 0");
    puts("\\=1 ok none");
    puts("error\tinternal\tforged");
    puts("\033[2J\033]0;title\007cleared");
    puts("left \342\200\256right-to-left\342\200\254 end");
    puts("line\342\200\250separator");
    puts("bad utf-8 \377\376 and c1 \302\233m");
    puts("carriage\rreturn back\b\bspace");
    printf("odd %d\n", odd(1));
    fflush(stdout);
    return 0; /* mark: done */
}
