// The part of the API that touches no debuggee: objects, aliases, guards against unknown names.
// Everything here is called with what `install` passes in; scripts see only the globals.
(function (native, registerNames) {
'use strict';

const SHOW = Symbol('show');

class DebuggerError extends Error {
  constructor(code, message, hint) {
    super(message);
    this.code = code;
    if (hint !== undefined && hint !== null) this.hint = hint;
  }
}
Object.defineProperty(DebuggerError.prototype, 'name', {value: 'DebuggerError', configurable: true, writable: true});

const fail = (code, message, hint) => { throw new DebuggerError(code, message, hint); };
const notYet = (what, hint) => fail('not_yet', `${what} is not in this version`, hint);

// What JavaScript itself asks any object for must not fail.
const isPlain = key => typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in Object.prototype;

// The last object of a prototype chain: whatever nobody above it has is a mistake.
function guard(what, names) {
  const unknown = key => {
    const near = native.nearest(key, names());
    fail('bad_property', `${what} has no property '${key}'`,
      near ? `did you mean ${near}` : `it has: ${names().slice(0, 40).join(' ')}`);
  };
  return new Proxy(Object.create(Object.prototype), {
    get: (target, key, receiver) => isPlain(key) ? Reflect.get(target, key, receiver) : unknown(key),
    set: (target, key, value, receiver) => typeof key === 'symbol'
      ? Reflect.defineProperty(receiver, key, {value, writable: true, configurable: true}) : unknown(key),
  });
}

// Defines members that scripts cannot overwrite. Accessors of `members` stay what they are.
function define(object, what, members) {
  for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
    const value = found.value;
    Object.defineProperty(object, name, {
      get: found.get ?? (() => value),
      set: found.set ?? (() => fail('read_only', `${what}.${name} cannot be assigned`)),
      enumerable: true,
    });
  }
  return object;
}

function showAs(object, show) {
  Object.defineProperty(object, SHOW, {value: show});
  Object.defineProperty(object, 'toString', {
    value() { const shown = show.call(this); return Array.isArray(shown) ? shown.map(row => row.join('\t')).join('\n') : shown; },
    writable: true, configurable: true,
  });
  return object;
}

// One of the API's own objects, such as `breakpoint`.
function api(what, members, show) {
  const names = Object.keys(members);
  const object = define(Object.create(guard(what, () => names)), what, members);
  showAs(object, show ?? (() => native.help_line(what)));
  return Object.preventExtensions(object);
}

const later = (what, hint) => () => notYet(what, hint);

// --- state, registers, flags, memory -------------------------------------------------------------

const extendedNames = native.extended_names();
const registers = Object.create(guard('registers', () => [...registerNames, 'n', 'keys', 'pc', 'sp', ...extendedNames]));
const registersBig = Object.create(guard('registers.n', () => registerNames));
const flags = Object.create(guard('flags', () => Object.keys(flags)));
const wholeRegisters = registerNames.slice(0, 27);

define(registers, 'registers', {keys: () => wholeRegisters.slice()});
for (const name of extendedNames) {
  Object.defineProperty(registers, name, {
    get() { return native.extended(this, name); },
    set(value) { native.set_extended(this, name, value); },
    enumerable: false,
  });
}

// Zeroes in one line, then a register a line.
showAs(registers, function () {
  const values = wholeRegisters.map(name => [name, this[name]]);
  if (values[0][1] === undefined) return 'registers were not read at that stop';
  const zero = values.filter(([, value]) => value === 0).map(([name]) => name);
  const lines = values.filter(([, value]) => value !== 0).map(([name, value]) => `${name}\t${native.hex(value)}`);
  if (zero.length) lines.push(`0\t${zero.join(' ')}`);
  return lines.join('\n');
});
showAs(registersBig, () => native.help_line('registers.n'));
showAs(flags, function () {
  return 'zcsopadit'.split('').map(name => `${name}=${this[name] ?? '?'}`).join(' ');
});

const readers = native.memory_types();

class Memory {
  #view; #addr;
  constructor(view, addr) { this.#view = view; this.#addr = addr; }
  static read(memory, type) { return native.read(memory.#view, memory.#addr, type); }
  static call(memory, name, ...args) { return native[name](memory.#view, memory.#addr, ...args); }
  static addr(memory) { return memory.#addr; }
  static writer(memory) { return new MemoryWriter(memory.#view, memory.#addr); }
}
class MemoryWriter {
  #view; #addr;
  constructor(view, addr) { this.#view = view; this.#addr = addr; }
  static call(writer, name, ...args) { return native[name](writer.#view, writer.#addr, ...args); }
}

const memoryMembers = {
  get addr() { return Memory.addr(this); },
  get write() { return Memory.writer(this); },
  bytes(n) { return Memory.call(this, 'read_bytes', n); },
  str(max) {
    if (typeof max === 'string') usage('str', max);
    return Memory.call(this, 'read_string', max);
  },
  array(type, n) { return Memory.call(this, 'read_array', type, n); },
  find(bytes, length) { return Memory.call(this, 'find', bytes, length); },
};
const writerMembers = {
  bytes(bytes) { return MemoryWriter.call(this, 'write_bytes', bytes); },
  str(text) { return MemoryWriter.call(this, 'write_string', text); },
};
const usage = (name, value) =>
  fail('bad_argument', `${name}() reads and takes no value`, `state.memory(a).write.${name}(${String(value).slice(0, 20)})`);
readers.forEach((name, type) => {
  memoryMembers[name] = function (value) {
    if (arguments.length > 0) usage(name, value);
    return Memory.read(this, type);
  };
  writerMembers[name] = function (value) { return MemoryWriter.call(this, 'write', type, value); };
});
const memoryNames = [...readers, 'bytes', 'str', 'array', 'find', 'write', 'addr'];
for (const [Class, what, members, names] of [
  [Memory, 'memory', memoryMembers, memoryNames],
  [MemoryWriter, 'memory.write', writerMembers, [...readers, 'bytes', 'str']],
]) {
  const prototype = Class.prototype;
  delete prototype.constructor;
  Object.setPrototypeOf(prototype, guard(what, () => names));
  define(prototype, what, members);
}
showAs(Memory.prototype, function () {
  return `memory at ${native.hex(Memory.addr(this))}\t${memoryNames.join(' ')}`;
});
showAs(MemoryWriter.prototype, () => native.help_line('memory.write'));

const state = Object.create(guard('state', () => Object.keys(state)));
const placeOf = view => { const pc = view.pc; return pc === undefined ? undefined : native.place(pc); };
const liveOnly = (view, what) => { if (native.is_past(view)) fail('bad_argument', `${what} needs the present stop`, `state.${what}`); };

define(state, 'state', {
  memory(addr) { return new Memory(this, native.address(addr)); },
  get instruction() {
    const pc = this.pc;
    if (pc === undefined) return undefined;
    const [{addr, bytes, text, operands}] = native.instructions(pc, 1);
    return showAs({addr, bytes, mnemonic: text, operands}, () => text);
  },
  disasm(n, addr) {
    return native.instructions(addr === undefined ? this.pc : native.address(addr), n ?? 10)
      .map(({addr, bytes, text, symbol}) => ({addr, bytes, text, symbol}));
  },
  symbol_at(addr) { return native.symbol_at(native.address(addr)); },
  unwind(max) { liveOnly(this, 'unwind()'); return native.backtrace(max); },
  get function() { return placeOf(this)?.function; },
  get file() { return placeOf(this)?.file; },
  get line() { return placeOf(this)?.line; },
  get column() { return notYet('state.column', 'state.line'); },
  get tid() { return native.tid(); },
  get thread() { return {tid: native.tid()}; },
  get signal() { return native.stop_signal(); },
  get stack() { liveOnly(this, 'stack'); return native.stack_area(); },
  get locals() { return notYet('state.locals', 'state.registers, state.memory(a)'); },
  get args() { return notYet('state.args', 'state.registers.rdi, rsi, rdx, rcx, r8, r9'); },
  frame: later('state.frame(n)', 'state.unwind(), backtrace()'),
  thread_local(name) {
    liveOnly(this, 'thread_local()');
    const {addr, size, name: full} = native.thread_local(name);
    const read = {0: 'u64', 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64'}[size];
    if (!read) {
      throw new DebuggerError('bad_argument', `${full} has ${size} bytes, not those of a number`,
        `state.memory(${native.hex(addr)}).bytes(${size})`);
    }
    return this.memory(addr)[read]();
  },
  keys: () => Object.keys(state).filter(name => !['column', 'locals', 'args', 'frame'].includes(name)),
});
showAs(state, function () {
  const pc = this.pc;
  if (pc === undefined) return 'nothing was read at that stop';
  const lines = [`pc\t${native.place_words(pc).join('\t')}`, `sp\t${native.hex(this.sp)}`];
  if (!native.is_past(this)) lines.push(`instr\t${this.instruction.mnemonic}`);
  lines.push(`flags\t${this.flags}`, `has\t${state.keys().join(' ')}`);
  return lines.join('\n');
});

// --- events --------------------------------------------------------------------------------------

function stopRows(event) {
  const row = [event.reason];
  if (event.detail) row.push(event.detail);
  if (event.pc !== undefined) row.push(...native.place_words(event.pc));
  const also = (event.also ?? []).map(other => ['also', other.reason, ...(other.detail ? [other.detail] : [])]);
  return [row, ...also, ...(event.summary ? summaryRows(event.summary) : [])];
}

// A batch of steps: one row for each kind of thing that happened in it, the most frequent first.
const SUMMARY_SHOWN = 12;
function summaryRows({first, symbol, calls, loops, syscalls, sp_min, sp_max}) {
  const row = (kind, list) => {
    if (list.length === 0) return [];
    const words = [...list].sort((a, b) => b.count > a.count ? 1 : b.count < a.count ? -1 : 0)
      .slice(0, SUMMARY_SHOWN).map(({name, count}) => count > 1 ? `${name} x${count}` : name);
    return [[kind, ...words, ...(list.length > SUMMARY_SHOWN ? [`${list.length - SUMMARY_SHOWN} more`] : [])]];
  };
  const rows = [...row('calls', calls), ...row('loops', loops.filter(({count}) => count > 1)), ...row('syscalls', syscalls),
    ...(sp_min === sp_max ? [] : [['sp', native.hex(sp_min), native.hex(sp_max)]])];
  // A few instructions in a row need no story.
  return rows.length === 0 ? [] : [['from', native.hex(first), ...(symbol === native.hex(first) ? [] : [symbol])], ...rows];
}
const summary = showAs({}, function () { return summaryRows(this); });
const stopEvent = showAs({}, function () { return stopRows(this); });
const event = showAs({
  get pc() { return this.state.pc; },
  get prev() { return native.previous(); },
}, function () { return stopRows(this); });

// --- globals -------------------------------------------------------------------------------------

const ctx = {};
Object.defineProperty(ctx, 'reset', {
  value: function reset() { for (const key of Reflect.ownKeys(ctx)) if (key !== 'reset') delete ctx[key]; },
});

const listen = "addEventListener('breakpoint', e => condition ? 'stop' : 'continue')";
const threadHint = 'one thread so far: state.tid, step(), cont()';
const print = native.print;

const globals = {
  spawn: native.spawn, attach: native.attach, detach: native.detach, kill: native.kill, restart: native.restart,
  step: native.step, cont: native.cont, wait: native.wait, interrupt: native.interrupt,
  next: native.next, stepIn: native.step_in, finish: native.finish, until: native.until,
  breakpoint: api('breakpoint', {
    set: native.breakpoint_set, remove: native.breakpoint_remove, list: native.breakpoint_list,
    enable: native.breakpoint_enable, disable: native.breakpoint_disable,
  }),
  watchpoint: api('watchpoint', {
    set: native.watchpoint_set, remove: native.watchpoint_remove, list: native.watchpoint_list,
  }),
  addEventListener: native.add_listener, removeEventListener: native.remove_listener, listeners: native.listeners,
  thread: api('thread', Object.fromEntries(['list', 'select', 'get'].map(name => [name, later(`thread.${name}()`, threadHint)]))),
  processes: Object.assign(later('processes()', threadHint), {select: later('processes.select(pid)', threadHint)}),
  signal: api('signal', {handle: native.signal_handle}),
  hang: later('hang()', 'backtrace()'),
  frame: later('frame(n)', 'backtrace()'),
  frames: later('frames()', 'backtrace()'),
  backtrace: native.backtrace,
  symbols: native.symbols, modules: native.modules, maps: native.maps,
  source: later('source()', 'state.file, state.line'),
  state: null, ctx,
  config: api('config', {
    get budget() { return native.budget(); }, set budget(bytes) { native.set_budget(bytes); },
    get timeout() { return native.timeout(); }, set timeout(ms) { native.set_timeout(ms); },
    get js_timeout() { return native.js_timeout(); }, set js_timeout(ms) { native.set_js_timeout(ms); },
    get follow() { return 'parent'; }, set follow(value) { native.set_follow(value); },
  }, function () { return ['budget', 'timeout', 'js_timeout', 'follow'].map(name => `${name}\t${this[name]}`).join('\n'); }),
  print, console: api('console', {log: print}),
  hex: native.hex, align_down: native.align_down, align_up: native.align_up, band: native.band, bor: native.bor,
  bxor: native.bxor, bnot: native.bnot, shl: native.shl, shr: native.shr, s64: native.s64, u64: native.u64,
  help: native.help, env: native.env, more: native.more,
  stdin: api('stdin', {write: native.stdin_write, close: native.stdin_close}),
  stdout: api('stdout', {read: native.stdout_read}),
  stderr: api('stderr', {read: native.stderr_read}),
  DebuggerError,
};
globals.__cont__ = globals.cont;

// Functions print what they are for: their names, collected when one is first shown.
let functions;
function nameFunctions() {
  functions = new Map();
  for (const [name, value] of Object.entries(globals)) {
    if (typeof value === 'function' && name !== '__cont__') functions.set(value, name);
    else if (typeof value === 'object' && !['ctx', 'config', 'state'].includes(name)) {
      for (const member of Object.keys(value)) if (!functions.has(value[member])) functions.set(value[member], `${name}.${member}`);
    }
  }
}

function show(value) {
  if (typeof value === 'function') {
    if (functions === undefined) nameFunctions();
    const name = functions.get(value);
    return name === undefined ? undefined : native.help_line(name);
  }
  const how = value[SHOW];
  return typeof how === 'function' ? how.call(value) : undefined;
}

// At most `max` items of a Map, a Set, or anything else that iterates.
function items(iterable, max) {
  const list = [];
  for (const item of iterable) {
    if (list.length >= max) break;
    list.push(item);
  }
  return list;
}

// Called when the constants are in place: the same names as properties of the global object.
function seal() {
  const expose = (name, get) => Object.defineProperty(globalThis, name, {
    get, enumerable: name !== '__cont__',
    set: () => fail('read_only', `${name} cannot be assigned`, 'keep your data in ctx'),
  });
  for (const [name, value] of Object.entries(globals)) expose(name, () => value);
  expose('continue', () => globals.cont);
  expose('prev', () => native.previous());
  Object.defineProperty(BigInt.prototype, 'toJSON', {
    value() { return this < 0n ? `-0x${(-this).toString(16)}` : `0x${this.toString(16)}`; },
    writable: true, configurable: true,
  });
}

return {
  make_error: (code, message, hint) => new DebuggerError(code, message, hint),
  show, items, to_text: value => String(value),
  state, registers, registers_big: registersBig, flags, event, stop_event: stopEvent, summary,
  globals, seal,
};
})
