/* Exits with the code given. Usage: exit-code [CODE=42]. */
#include <stdlib.h>

int main(int argc, char **argv)
{
    return argc > 1 ? atoi(argv[1]) : 42; /* mark: main */
}
