/* Waits in vfork for a child that takes four seconds: no signal but SIGKILL reaches it meanwhile. Exits 5. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    if (vfork() == 0) {
        sleep(4);
        _exit(3);
    }
    puts("the child is done");
    return 5;
}
