/* Calls one function in a counted loop. Usage: loop [COUNT=5]. Exits 0. */
#include <stdio.h>
#include <stdlib.h>

int total;

int work(int i)
{ /* mark: work */
    int square = i * i; /* mark: in-work */
    total += square;
    return square;
}

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 5; /* mark: main */
    printf("loop: %d rounds\n", count); /* mark: greeting */
    fflush(stdout); /* mark: after-init */
    for (int i = 1; i <= count; i++) {
        int square = work(i); /* mark: call */
        printf("round %d square %d\n", i, square);
    }
    printf("total %d\n", total); /* mark: done */
    return 0;
}
