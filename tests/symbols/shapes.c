#include "shapes.h"
volatile long sink;
__attribute__((noinline)) long work(struct shape *it) {
    long sum = area(it);
    sink = sum;
    return sum + sink;
}
int main(void) {
    struct shape it = {"x", 2, 3, 4, 5, 0};
    sink = work(&it);
    return 0;
}
