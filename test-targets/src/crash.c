/* Writes through a null pointer three calls deep: a lookup fails and nobody checks. Dies of SIGSEGV at address 0x18. */
#include <stdio.h>
#include <string.h>

struct account {
    char name[16];
    long opened;
    long balance;
};

static struct account accounts[] = {
    {"alice", 2019, 120},
    {"bob", 2021, 75},
};

struct account *find_account(const char *name)
{
    for (size_t i = 0; i < sizeof accounts / sizeof accounts[0]; i++)
        if (strcmp(accounts[i].name, name) == 0)
            return &accounts[i];
    return NULL; /* mark: not-found */
}

void deposit(const char *name, long amount)
{
    struct account *account = find_account(name);
    account->balance += amount; /* mark: crash */
}

void run_batch(void)
{
    deposit("alice", 10);
    deposit("bob", 20);
    deposit("carol", 30); /* mark: bad-call */
}

int main(void)
{
    puts("posting three deposits");
    fflush(stdout);
    run_batch(); /* mark: batch */
    puts("never printed");
    return 0;
}
