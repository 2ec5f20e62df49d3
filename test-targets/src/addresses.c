/* Prints where its code, data, heap and stack are: the same twice without address randomisation. Exits 0. */
#include <stdio.h>
#include <stdlib.h>

int datum = 1;

int main(void)
{
    int local = datum;
    printf("code %p\n", (void *)main);
    printf("data %p\n", (void *)&datum);
    printf("heap %p\n", malloc(64));
    printf("stack %p\n", (void *)&local);
    return 0; /* mark: done */
}
