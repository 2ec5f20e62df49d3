/* Known values of every width to read and write, and a page that nobody may touch. Exits 0 when nothing was changed, 1 when something was. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

uint8_t g_u8 = 0xfe;
uint16_t g_u16 = 0xfedc;
uint32_t g_u32 = 0xfedcba98;
uint64_t g_u64 = 0xfedcba9876543210;
uint64_t g_u64_max = UINT64_MAX;
uint64_t g_u64_safe = 9007199254740991;   /* 2^53 - 1: the last exact Number */
uint64_t g_u64_unsafe = 9007199254740993; /* 2^53 + 1: no Number */
int8_t g_i8 = -2;
int16_t g_i16 = -300;
int32_t g_i32 = -70000;
int64_t g_i64 = -9007199254740993;
int64_t g_i64_min = INT64_MIN;
float g_f32 = 1.5f;
double g_f64 = -2.25;
double g_nan_bits;
char g_text[] = "plain text";
char g_utf8[] = "na\303\257ve \342\202\254";
char g_bad_utf8[] = "bad \377 byte";
int32_t g_array[4] = {1, -2, 3, -4};
void *g_pointer = &g_u32;
struct pair {
    uint32_t left;
    uint16_t right;
    char tag[6];
} g_pair = {7, 8, "tag"};
unsigned char *g_page;       /* a readable page filled with 0xaa, */
unsigned char *g_guard_page; /* directly followed by one without access */

static unsigned long checksum(void)
{
    return g_u8 + g_u16 + g_u32 + g_u64 + (unsigned long)g_i32 + (unsigned long)g_array[2] + g_pair.left;
}

int main(void)
{
    unsigned long before = checksum();
    g_page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(g_page, 0xaa, 4096);
    g_guard_page = g_page + 4096;
    mprotect(g_guard_page, 4096, PROT_NONE);
    int changed = checksum() != before; /* mark: ready */
    changed |= checksum() != before;
    printf("changed %d u32 0x%x text %s\n", changed, g_u32, g_text);
    return changed; /* mark: done */
}
