/* The path of another target in this program's own directory. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void beside(char *path, size_t size, const char *name)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    path[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(path, '/');
    char *base = slash ? slash + 1 : path;
    snprintf(base, size - (size_t)(base - path), "%s", name);
}
