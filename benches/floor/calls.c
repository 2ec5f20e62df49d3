/* The program that is traced: an endless loop of calls, loads, stores and branches. */
static volatile long sink;
static long table[64];

__attribute__((noinline)) void hit(long x) { sink += x; }

int main(void) {
  for (long i = 0;; i++) {
    table[i & 63] += i;
    if (table[(i * 7) & 63] & 1) sink ^= i;
    hit(i);
  }
}
