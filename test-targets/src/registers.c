/* Fills the registers with known values and stops at the label `registers_loaded`, then checks nothing: it exits with the low byte of rax, 0x88. */
#include <stdint.h>

uint8_t vector[16] __attribute__((aligned(16))) = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

__asm__(".text\n"
        ".globl load_registers, registers_loaded\n"
        ".type load_registers, @function\n"
        "load_registers:\n"
        "  push %rbx\n"
        "  push %rbp\n"
        "  push %r12\n"
        "  push %r13\n"
        "  push %r14\n"
        "  push %r15\n"
        "  movaps vector(%rip), %xmm0\n"
        "  movabs $0xffffffffffffffff, %rbx\n"
        "  movabs $0x8000000000000000, %rcx\n"
        "  movabs $0x0020000000000001, %rdx\n" /* 2^53 + 1 */
        "  movabs $0x001fffffffffffff, %rsi\n" /* 2^53 - 1 */
        "  movabs $0x00000000ffffffff, %rdi\n"
        "  movabs $0x0807060504030201, %r8\n"
        "  movabs $0x1111111111111111, %r9\n"
        "  movabs $0xaaaaaaaaaaaaaaaa, %r10\n"
        "  movabs $0x7fffffffffffffff, %r11\n"
        "  xor %r12d, %r12d\n"
        "  mov $1, %r13d\n"
        "  mov $0x80000000, %r14d\n"
        "  movabs $0xfedcba9876543210, %r15\n"
        "  movabs $0x1122334455667788, %rax\n"
        "  mov $0xbad, %ebp\n"
        "  stc\n"
        "registers_loaded:\n"
        "  nop\n"
        "  pop %r15\n"
        "  pop %r14\n"
        "  pop %r13\n"
        "  pop %r12\n"
        "  pop %rbp\n"
        "  pop %rbx\n"
        "  ret\n"
        ".size load_registers, . - load_registers\n");

uint64_t load_registers(void);

int main(void)
{
    return (int)(load_registers() & 0xff);
}
