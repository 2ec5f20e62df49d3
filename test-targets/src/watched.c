// Touches watched places in every way: writes, equal writes, reads, two in one instruction, from new
// threads, and through a system call. Ends with 0.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

volatile int total;
volatile struct { long low, high; } pair __attribute__((aligned(16)));
char received[8] __attribute__((aligned(8)));

static void *count(void *unused) {
  for (int i = 0; i < 100; i++) total++; /* mark: in-thread */
  return unused;
}

int main(void) {
  total = 3; /* mark: first-write */
  total = 3; /* mark: equal-write */
  int copy = total; /* mark: read */
  /* One instruction that writes both halves. */
  __asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n\tmovaps %%xmm0, %0" : "=m"(pair)::"xmm0"); /* mark: both */
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], "abcdefgh", 8) != 8) return 1;
  if (read(ends[0], received, sizeof received) != 8) return 1;
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    if (pthread_create(&thread, 0, count, 0) != 0) return 1;
    pthread_join(thread, 0);
  }
  printf("total %d copy %d\n", total, copy);
  return 0;
}
