/* Local and global functions, imported ones, and one that the loader chooses. */
#include <stdio.h>
#include <stdlib.h>

static int fast(int x) { return x + 1; }
static int slow(int x) { return x + 2; }
static int (*choose(void))(int) { return getenv("SLOW") ? slow : fast; }
int chosen(int x) __attribute__((ifunc("choose")));

static __attribute__((noinline)) int hidden(int x) { return x * 3 + chosen(x); }
__attribute__((noinline)) int shown(int x) { return hidden(x) + 1; }

int main(int argc, char **argv) {
    (void)argv;
    printf("%d\n", shown(argc));
    return 0;
}
