/* Replaces itself by the target `loop` with two rounds. Exits 0 (loop's code); 127 when loop is not beside it. */
#include "beside.h"

int main(void)
{
    char path[4096];
    beside(path, sizeof path, "loop");
    puts("about to exec");
    fflush(stdout);
    execl(path, "loop", "2", (char *)NULL); /* mark: exec */
    return 127;
}
