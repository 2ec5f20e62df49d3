/* Reads lines from stdin and prints them in upper case until EOF. Exits 3. */
#include <ctype.h>
#include <stdio.h>

int lines;

void handle_line(char *line)
{
    for (char *c = line; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    lines++; /* mark: handled */
    fputs(line, stdout);
    fflush(stdout);
}

int main(void)
{
    char line[4096];
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) /* mark: read */
        handle_line(line);
    printf("eof after %d lines\n", lines); /* mark: eof */
    return 3;
}
