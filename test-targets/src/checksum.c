/* Compares its own code in memory with the file it was loaded from, before and after a call: sees inserted traps.
   Prints how many bytes differ. Exits 0 when none does, 1 when some do. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const Elf64_Ehdr __ehdr_start;

int guarded(int x)
{ /* mark: guarded-entry */
    return x * 3 + 1; /* mark: guarded */
}

static const unsigned char *map_own_file(void)
{
    struct stat status;
    int fd = open("/proc/self/exe", O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return NULL;
    void *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return file == MAP_FAILED ? NULL : file;
}

static int differing_bytes(const unsigned char *file)
{
    const unsigned char *image = (const unsigned char *)&__ehdr_start;
    const Elf64_Phdr *headers = (const Elf64_Phdr *)(file + __ehdr_start.e_phoff);
    int differing = 0;
    for (int i = 0; i < __ehdr_start.e_phnum; i++) {
        if (headers[i].p_type != PT_LOAD || !(headers[i].p_flags & PF_X))
            continue;
        const unsigned char *loaded = image + headers[i].p_vaddr;
        for (Elf64_Xword at = 0; at < headers[i].p_filesz; at++)
            differing += loaded[at] != file[headers[i].p_offset + at];
    }
    return differing;
}

int main(void)
{
    const unsigned char *file = map_own_file(); /* mark: main */
    if (!file)
        return 2;
    int before = differing_bytes(file); /* mark: before */
    int value = guarded(5);
    int after = differing_bytes(file); /* mark: after */
    printf("guarded %d, differing bytes before %d after %d\n", value, before, after);
    return before || after ? 1 : 0;
}
