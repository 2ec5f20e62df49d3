/* Stops 20 and 1,000 frames deep. */
volatile long sink;

__attribute__((noinline)) void shallow(void) { sink = 1; }
__attribute__((noinline)) void deep(void) { sink = 2; }

__attribute__((noinline)) long down(long depth, void (*end)(void)) {
    if (depth == 0) {
        end();
        return sink;
    }
    return down(depth - 1, end) + sink + depth;
}

int main(void) {
    down(20, shallow);
    down(1000, deep);
    return 0;
}
