/* Says which of its streams are terminals. Exits with the number of terminals. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    static const char *const names[] = {"stdin", "stdout", "stderr"};
    int terminals = 0;
    for (int fd = 0; fd < 3; fd++) {
        terminals += isatty(fd);
        printf("%s %s\n", names[fd], isatty(fd) ? "terminal" : "no terminal");
    }
    return terminals;
}
