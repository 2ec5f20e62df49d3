/* The floor: what the kernel alone allows, measured as bare as it can be written.
 *
 *   floor step MS PROGRAM    PTRACE_SINGLESTEP + waitpid, nothing else
 *   floor hit MS PROGRAM     an int3 on the function `hit` (its address in argv[4], hexadecimal, relative to the load
 *                            address), whose first instruction, push %rbp, is done by hand: one stop for a hit
 *   floor exec MS PROGRAM    fork, exec, the exec stop, kill
 *
 * It prints one number: events a second. Affinity is the caller's business. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fail(const char *what) {
  fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
  exit(1);
}

static pid_t start(char *program) {
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execl(program, program, (char *)0);
    _exit(127);
  }
  int status;
  if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status)) fail("exec stop");
  if (ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL)) fail("SETOPTIONS");
  return child;
}

static void end(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, 0, __WALL);
}

static void wait_for_trap(pid_t child) {
  int status;
  if (waitpid(child, &status, __WALL) != child) fail("waitpid");
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
    fprintf(stderr, "floor: an unexpected status %#x\n", status);
    exit(1);
  }
}

static double step_rate(char *program, double seconds) {
  pid_t child = start(program);
  long done = 0;
  double from = now(), to;
  do {
    for (int i = 0; i < 256; i++) {
      if (ptrace(PTRACE_SINGLESTEP, child, 0, 0)) fail("SINGLESTEP");
      wait_for_trap(child);
    }
    done += 256;
    to = now();
  } while (to - from < seconds);
  end(child);
  return (double)done / (to - from);
}

/* Where the program is mapped: the lowest line of its own file in /proc/PID/maps. */
static unsigned long load_address(pid_t child) {
  char path[64];
  unsigned long start = 0;
  snprintf(path, sizeof path, "/proc/%d/maps", child);
  FILE *maps = fopen(path, "r");
  if (!maps || fscanf(maps, "%lx-", &start) != 1) fail("maps");
  fclose(maps);
  return start;
}

static double hit_rate(char *program, double seconds, unsigned long offset) {
  pid_t child = start(program);
  unsigned long site = load_address(child) + offset;
  errno = 0;
  long word = ptrace(PTRACE_PEEKTEXT, child, site, 0);
  if (errno || (word & 0xff) != 0x55) fail("`hit` does not begin with push %rbp");
  if (ptrace(PTRACE_POKETEXT, child, site, (word & ~0xffL) | 0xcc)) fail("POKETEXT");
  struct user_regs_struct regs;
  long done = 0;
  double from = now(), to;
  do {
    for (int i = 0; i < 64; i++) {
      if (ptrace(PTRACE_CONT, child, 0, 0)) fail("CONT");
      wait_for_trap(child);
      if (ptrace(PTRACE_GETREGS, child, 0, &regs)) fail("GETREGS");
      regs.rsp -= 8; /* push %rbp; the pc stands behind the one byte already */
      if (ptrace(PTRACE_POKEDATA, child, regs.rsp, regs.rbp)) fail("POKEDATA");
      if (ptrace(PTRACE_SETREGS, child, 0, &regs)) fail("SETREGS");
    }
    done += 64;
    to = now();
  } while (to - from < seconds);
  end(child);
  return (double)done / (to - from);
}

static double exec_rate(char *program, double seconds) {
  long done = 0;
  double from = now(), to;
  do {
    end(start(program));
    done++;
    to = now();
  } while (to - from < seconds);
  return (double)done / (to - from);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  double seconds = atof(argv[2]) / 1e3, rate;
  if (!strcmp(argv[1], "step"))
    rate = step_rate(argv[3], seconds);
  else if (!strcmp(argv[1], "hit") && argc > 4)
    rate = hit_rate(argv[3], seconds, strtoul(argv[4], 0, 16));
  else if (!strcmp(argv[1], "exec"))
    rate = exec_rate(argv[3], seconds);
  else
    return 2;
  printf("%.3f\n", rate);
  return 0;
}
