// llmdbg: what scripts see. One comment line per item says what it does; `throws` names error codes (help('errors')).

/** An exact integer: a Number up to 2^53-1, a BigInt beyond. Never rounded, never negative by accident. */
type Int = number | bigint;
/** An address: Int, "0x…", or a location: "main", "main+0x10", "libc.so.6!malloc", "file.c:12". */
type Where = Int | string;

// --- process ---
/** Starts a program and stops it at its first instruction. throws no_program not_executable wrong_architecture bad_elf spawn_failed */
declare function spawn(binary: string, ...args: (string | Int | boolean)[]): StopEvent;
declare function spawn(options: {
  bin: string; args?: (string | Int | boolean)[];
  env?: Record<string, string | null>;      // merged into the debugger's own; null removes
  cwd?: string;
  stdin?: string | 'null' | {file: string}; // text, /dev/null, a file; left out: a pipe for stdin.write()
  tty?: boolean; aslr?: boolean;            // defaults false
  stop?: 'entry' | 'main';                  // default 'entry'
  limits?: Record<'as' | 'core' | 'cpu' | 'data' | 'fsize' | 'memlock' | 'nofile' | 'nproc' | 'stack', Int | 'unlimited'>; // as setrlimit(2); core: 0 unless given
}): StopEvent;
/** Stops a running process and traces it. throws no_such_process attach_refused */
declare function attach(pid: Int): StopEvent;
/** Lets the process go on without the debugger. */
declare function detach(): StopEvent;
/** Kills the process. */
declare function kill(): StopEvent;
/** Starts the program again with the same arguments; breakpoints, listeners and ctx stay. */
declare function restart(): StopEvent;

// --- running ---
/** Executes n instructions of the selected thread (default 1; 1 to 2^53-1); signal: 0 drops the pending one. A batch without step listeners has a summary. */
declare function step(n?: Int): StopEvent;
declare function step(options: {count?: Int; signal?: 0 | null | string | Int; timeout?: number}): StopEvent;
/** Steps by source lines over calls, n times (default 1); by instructions where there are no lines. All threads run during calls. */
declare function next(n?: number, options?: {timeout?: number; signal?: string | 0}): StopEvent;
/** Like next, but stops at the first line of a called function that has lines. */
declare function stepIn(n?: number, options?: {timeout?: number; signal?: string | 0}): StopEvent;
/** Runs until the present function has returned: reason 'finish', value = rax. */
declare function finish(options?: {timeout?: number; signal?: string | 0}): StopEvent;
/** Runs to a place, in any thread: reason 'until'. Breakpoints on the way stop too. */
declare function until(where: Where, options?: {timeout?: number; signal?: string | 0}): StopEvent;
/** Runs until something stops the process, or timeout ms (default config.timeout) are over. In a listener: the verdict 'continue'. */
declare function cont(options?: {
  timeout?: number;                         // ms
  background?: boolean;                     // return at once; then wait() or interrupt()
  signal?: 0 | null | string | Int;         // instead of the pending signal; 0 drops it
}): StopEvent | undefined;
/** As cont(). `continue(…)` at the prompt is rewritten to it. */
declare const continue_: typeof cont;
/** Waits up to ms (default config.timeout) for the background run: its stop, or null while it goes on. throws not_running */
declare function wait(ms?: number): StopEvent | null;
/** Stops the background run. throws not_running */
declare function interrupt(): StopEvent;

/** Why a run ended. Prints as REASON DETAIL PC SYMBOL+0xOFF FILE:LINE. */
interface StopEvent {
  reason: 'entry' | 'attached' | 'step' | 'breakpoint' | 'signal' | 'exit' | 'killed' | 'timeout' | 'interrupted' | 'blocked' | 'exec' | 'fork' | 'thread' | 'detached';
  stop_reason: string; detail: string;      // the same as reason; its second column
  tid?: number; pc?: Int;
  also?: StopEvent[];                       // what happened at the same instant
  done?: Int; total?: Int; summary?: BatchSummary;           // step
  breakpoint_id?: number; name?: string | null; hits?: Int;  // breakpoint
  signal?: string; code?: string; addr?: Int | null; sender?: number | null; // signal, killed
  status?: number;                                           // exit
  timeout?: number; doing?: string;                          // timeout, interrupted, blocked
  path?: string; child?: number; thread?: number;            // exec, fork, thread
}

/** What happened in a batch of steps, in the order of the first time. Prints as rows, the most frequent first. loops: branches back, by their target. */
interface BatchSummary {
  first: Int; symbol: string; sp_min: Int; sp_max: Int; // where it began; the bounds of sp
  calls: {name: string; count: Int}[]; loops: {name: string; count: Int}[]; syscalls: {name: string; count: Int}[];
  others: Int;                              // what more than 256 different ones of a kind add up to
}

// --- breakpoints, signals, listeners ---
/** Breakpoints. A function name means the line after its prologue, "*main" the entry itself. */
declare const breakpoint: {
  /** Sets one and answers its id. throws no_symbol no_location bad_address ambiguous */
  set(where: Where, name?: string | {
    name?: string;
    thread?: number;                        // tid: hits of other threads do not count
    if?: Condition;                         // false: the hit does not count
    hits?: number | string;                 // 3 '3' '>=3' '%3': only these hits stop and are heard
    log?: string;                           // 'x={expression}' prints and goes on; {{ and }} are braces
    once?: boolean; temporary?: boolean;    // removed when it has stopped
    pending?: boolean;                      // a place that does not exist yet: waits until a library brings it
    hardware?: boolean;                     // by a debug register: the code stays as it is. throws no_slot
  }): number;
  /** Removes it. throws no_breakpoint */
  remove(id_or_name: number | string): void;
  /** All of them: id name where addr symbol line hits enabled, options when there are any. */
  list(): {id: number; name: string | null; where: string; addr: Int | null; symbol: string | null; line: string | null; hits: Int; enabled: boolean; options?: string; addrs?: Int[]}[];
  /** Switches it on. throws no_breakpoint */
  enable(id_or_name: number | string): void;
  /** Switches it off; hits stay. throws no_breakpoint */
  disable(id_or_name: number | string): void;
};
/** An expression that sees e, state, registers, flags, hits and every global, or a function of the event. It cannot run the process. */
type Condition = string | ((e: DebugEvent) => any);
/** The processor's four watches, on every thread. Writes by system calls are seen at the next stop (by_kernel). */
declare const watchpoint: {
  /** Watches 1, 2, 4 or 8 aligned bytes: the symbol's size, or 8. 'w' (default): every write, also of an equal value; 'r': reads; 'rw': both. Errors: no_slot, bad_argument, bad_address. */
  set(where: Where, access?: 'r' | 'w' | 'rw', name?: string | {name?: string; size?: 1 | 2 | 4 | 8; if?: Condition}): number;
  /** Frees its debug register. */
  remove(id_or_name: number | string): void;
  /** {id, name, where, addr, size, access, value (last seen), hits, active, options?}. */
  list(): object[];
};
/** What happens to signals. */
declare const signal: {
  /** Changes what is given of stop, pass (deliver to the process) and print; answers all three. */
  handle(name: string | Int, policy?: {stop?: boolean; pass?: boolean; print?: boolean}): {signal: string; stop: boolean; pass: boolean; print: boolean};
};
/** Calls fn(event) for step, breakpoint, watchpoint, signal, exit, output, exec, fork, library, thread; answers an id. fn may return 'stop' or 'continue'. */
declare function addEventListener(type: string, fn: (event: DebugEvent) => 'stop' | 'continue' | void): number;
/** Removes by id or function, or all of the type; answers how many. throws no_listener */
declare function removeEventListener(type: string, which?: number | Function): number;
/** All listeners: id type listener. */
declare function listeners(): {id: number; type: string; listener: Function}[];
/** What a listener gets: a StopEvent's fields, and these. Kept after the call, it stays as it was. */
interface DebugEvent extends StopEvent {
  state: State; prev: State | null;
  stream?: 'stdout' | 'stderr'; text?: string;               // output
}

// --- state ---
/** The present stop, read when asked for. Assign state.pc, state.sp, state.registers.rax, state.flags.z. */
declare const state: State;
/** What was read at the previous stop; fields nobody read are undefined; null before the second stop. */
declare const prev: State | null;
interface State {
  pc: Int; sp: Int;
  registers: Registers;
  flags: Record<'z' | 'c' | 's' | 'o' | 'p' | 'a' | 'd' | 'i' | 't' | 'n' | 'v', 0 | 1>; // n = s, v = o
  instruction: {addr: Int; bytes: string; mnemonic: string; operands: string[]};
  memory(addr: Where): Memory;
  disasm(n?: number, addr?: Where): {addr: Int; bytes: string; text: string; symbol: string | null}[]; // default 10 from pc
  symbol_at(addr: Where): string | null;    // "main" or "main+0x4"
  thread_local(name: string): Int;          // value in the selected thread, by the symbol's size; errors: no_symbol, not yet allocated
  stack: {top: Int; usable_base: Int; guard_size: Int}; // usable_base: lowest usable address, growth included; 0: nothing guards it
  unwind(max?: number): Frame[];            // default 256
  function: string | null; file: string | null; line: number | null;
  tid: number; thread: {tid: number}; signal: string | null;
  keys(): string[];
}
/** rax … r15 rip rflags segment and base registers, their parts (eax al …), pc, sp; n has each as a BigInt; keys() lists the whole ones. */
type Registers = Record<string, Int> & {n: Record<string, bigint>; keys(): string[]} & Extended;
/** On request: xmm0 … xmm15, ymm0 … ymm15 (null without AVX), st0 … st7 from the top, mxcsr fcw fsw ftw. Assign one view: state.registers.xmm0 = {f32: [1, 2, 3, 4]}. */
type Extended = Record<string, Vector | {bytes: string; f64: number} | number>;
/** A vector register, lowest first: 16 or 32 bytes as hex digits, and as numbers. */
interface Vector {bytes: string; u32: number[]; u64: Int[]; f32: number[]; f64: number[]}
/** Little-endian. throws bad_address */
interface Memory {
  addr: Int;
  u8(): number; u16(): number; u32(): number; u64(): Int; i8(): number; i16(): number; i32(): number; i64(): Int;
  u64n(): bigint; i64n(): bigint; f32(): number; f64(): number; ptr(): Int;
  bytes(n?: number): string;                // two hex digits a byte; default 16, up to 4 MiB
  str(max?: number): string;                // up to NUL or max bytes (default 64 KiB); a byte that is not UTF-8 becomes \udc80-\udcff, shown as \xNN
  array(type: string, n: number): Int[];    // type: 'u8' … 'ptr'
  find(bytes: string | number[], length: Int): Int | null; // hex digits or byte values
  write: {                                  // write.u32(v) …: v out of range is an error
    u8(v: Int): void; u16(v: Int): void; u32(v: Int): void; u64(v: Int): void; i8(v: Int): void; i16(v: Int): void; i32(v: Int): void; i64(v: Int): void;
    u64n(v: Int): void; i64n(v: Int): void; f32(v: number): void; f64(v: number): void; ptr(v: Int): void;
    bytes(bytes: string | number[]): void; str(text: string): void; // str adds a NUL
  };
}
/** The call stack, innermost first. */
declare function backtrace(max?: number): Frame[];
interface Frame {frame: number; pc: Int; sp: Int; symbol: string | null; file: string | null; line: number | null; inlined: boolean}

// --- symbols ---
/** Symbols whose name contains pattern (or matches it, with * and ?): addr size kind name module. */
declare function symbols(pattern?: string): {addr: Int; size: Int; kind: string; name: string; module: string}[];
/** Loaded images: name start end bias symbols build_id path. */
declare function modules(name?: string): {name: string; start: Int; end: Int; bias: Int; symbols: string; build_id: string | null; path: string}[];
/** Memory mappings: start end perms offset path. */
declare function maps(): {start: Int; end: Int; perms: string; offset: Int; path: string}[];

// --- the process's streams ---
/** The process's standard input, when it is a pipe. throws stdin_closed */
declare const stdin: {
  /** Writes text; answers how many bytes the process will find. throws stdin_closed */
  write(text: string): number;
  /** Ends the input. */
  close(): void;
};
/** What the process wrote; the last 1 MiB stays readable. throws no_output */
declare const stdout: {
  /** Text not read so far, or from a byte position on; at most max bytes (default 64 KiB). */
  read(options?: {from?: Int; max?: number}): string;
};
/** As stdout. throws no_output */
declare const stderr: {
  /** Text not read so far, or from a byte position on; at most max bytes (default 64 KiB). */
  read(options?: {from?: Int; max?: number}): string;
};

// --- output, numbers, settings ---
/** Your own data: kept between programs. ctx.reset() empties it. */
declare const ctx: Record<string, any> & {reset(): void};
/** Appends a line: arguments joined by tabs. */
declare function print(...values: any[]): void;
/** console.log is print. */
declare const console: {
  /** As print. */
  log(...values: any[]): void;
};
/** The next part of a reply that was cut. */
declare function more(): void;
/** '0x…' of an integer. */
declare function hex(value: Int): string;
/** value rounded down to a multiple of a power of two. */
declare function align_down(value: Int, to: Int): Int;
/** value rounded up to a multiple of a power of two. */
declare function align_up(value: Int, to: Int): Int;
/** Bitwise and on 64 bits; negative arguments in two's complement. */
declare function band(a: Int, b: Int, ...more: Int[]): Int;
/** Bitwise or on 64 bits. */
declare function bor(a: Int, b: Int, ...more: Int[]): Int;
/** Bitwise exclusive or on 64 bits. */
declare function bxor(a: Int, b: Int, ...more: Int[]): Int;
/** Bitwise complement on 64 bits. */
declare function bnot(a: Int): Int;
/** Shifts left within 64 bits. */
declare function shl(a: Int, by: Int): Int;
/** Shifts right, filling with zeroes. */
declare function shr(a: Int, by: Int): Int;
/** The 64 bits read as a signed integer. */
declare function s64(a: Int): Int;
/** The 64 bits read as an unsigned integer. */
declare function u64(a: Int): Int;
/** Settings: budget (bytes of a reply, 500 to 1048576), timeout (ms of a run), js_timeout (ms of a script, 1 to 600000), follow ('parent'). */
declare const config: {budget: number; timeout: number; js_timeout: number; follow: 'parent'};
/** This text, or that of a topic: a global's name, 'errors', 'numbers', 'listeners', 'breakpoints', 'signals', 'tasks', 'api'. */
declare function help(topic?: string): string;
/** What this environment is and allows. */
declare function env(): Record<string, string | number>;
/** What API calls throw: code is stable (help('errors')), hint is the next step. */
declare class DebuggerError extends Error {code: string; hint?: string}

// --- announced, not in this version: each throws not_yet and names what works now ---
/** Not yet: threads. */
declare const thread: {
  /** Not yet. */
  list(): object[];
  /** Not yet. */
  select(tid: number): void;
  /** Not yet. */
  get(tid: number): object;
};
/** Not yet: the processes of the session. */
declare function processes(): object[];
/** Not yet: who waits for whom. */
declare function hang(): object[];
/** Not yet: one frame with its variables. */
declare function frame(n: number): object;
/** Not yet: frames with their variables. */
declare function frames(): object[];
/** Not yet: source text. */
declare function source(where?: Where): string;
