/* `twice` is inlined into both callers, and its address is taken. */
volatile int sink;
static int twice(int x) { sink = x; return 2 * sink; }
int (*volatile by_address)(int) = twice;
__attribute__((noinline)) int first(int x) {
    return twice(x) + 5;
}
__attribute__((noinline)) int second(int x) {
    return twice(x) + 6;
}
int main(void) { return first(sink) + second(sink) + by_address(1) == 99; }
