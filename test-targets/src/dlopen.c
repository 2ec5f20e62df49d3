/* Loads libplugin.so from its own directory while it runs, calls into it and unloads it. Exits 0; 1 when it cannot be loaded. */
#include "beside.h"
#include <dlfcn.h>

int main(void)
{
    char path[4096];
    beside(path, sizeof path, "libplugin.so");
    void *plugin = dlopen(path, RTLD_NOW); /* mark: load */
    if (!plugin)
        return 1;
    int (*run)(int) = (int (*)(int))dlsym(plugin, "plugin_run");
    printf("plugin says %d\n", run(1)); /* mark: call */
    dlclose(plugin);
    return 0; /* mark: done */
}
