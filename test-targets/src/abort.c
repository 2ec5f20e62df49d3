/* Ends by abort(3): dies of SIGABRT. */
#include <stdio.h>
#include <stdlib.h>

void give_up(const char *why)
{
    fprintf(stderr, "giving up: %s\n", why);
    abort(); /* mark: abort */
}

int main(void)
{
    give_up("a check failed");
    return 0;
}
