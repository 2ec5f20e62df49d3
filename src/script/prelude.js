// The part of the API that touches no debuggee: objects, aliases, guards against unknown names.
// Everything here is called with what `install` passes in; scripts see only the globals.
//
// Scripts may replace any built-in, and the API must not notice. Inside of functions, which run after
// scripts did, only these constants are used and syntax that looks nothing up: no methods of arrays and
// strings (a template with `${}` is one), no `...`, no `for … of`, no array patterns; descriptors and
// handlers without a prototype.
(function (native, registerNames) {
'use strict';

const {apply, get: getFrom, ownKeys, deleteProperty, defineProperty: tryToDefine} = Reflect;
const {create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, keys: keysOf} = Object;
const {prototype: objectPrototype} = Object;
const global = globalThis, textOf = String;
// A method as a function of its object, a getter likewise.
const unbound = Function.prototype.bind.bind(Function.prototype.call);
const getter = (object, name) => unbound(getOwnPropertyDescriptor(object, name).get);
const objectTag = unbound(Object.prototype.toString), slice = unbound(String.prototype.slice);
const bigText = unbound(BigInt.prototype.toString);
const mapHas = unbound(Map.prototype.has), mapGet = unbound(Map.prototype.get), mapSet = unbound(Map.prototype.set);

const data = value => ({__proto__: null, value, writable: true, enumerable: true, configurable: true});
const append = (list, item) => defineProperty(list, list.length, data(item));
const appendAll = (list, items) => { for (let i = 0; i < items.length; i++) append(list, items[i]); };

const SHOW = Symbol('show');

class DebuggerError extends Error {
  constructor(code, message, hint) {
    super(message);
    defineProperty(this, 'code', data(code));
    if (hint !== undefined && hint !== null) defineProperty(this, 'hint', data(hint));
  }
}
defineProperty(DebuggerError.prototype, 'name', {value: 'DebuggerError'});
freeze(DebuggerError.prototype);
freeze(DebuggerError);

const fail = (code, message, hint) => { throw new DebuggerError(code, message, hint); };
const notYet = (what, hint) => fail('not_yet', what + ' is not in this version', hint);

// What JavaScript itself asks any object for must not fail.
const isPlain = key => typeof key === 'symbol' || key === 'then' || key === 'toJSON' || key in objectPrototype;

// The last object of a prototype chain: whatever nobody above it has is a mistake.
function guard(what, names) {
  const unknown = key => native.unknown_property(what, key, names());
  return new Proxy(freeze(create(objectPrototype)), {
    __proto__: null,
    get: (target, key, receiver) => isPlain(key) ? getFrom(target, key, receiver) : unknown(key),
    set: (target, key, value, receiver) => typeof key === 'symbol'
      ? tryToDefine(receiver, key, {__proto__: null, value, writable: true, configurable: true}) : unknown(key),
  });
}

// Defines members that scripts cannot overwrite. Accessors of `members` stay what they are.
function define(object, what, members) {
  for (const [name, found] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
    const value = found.value;
    Object.defineProperty(object, name, {
      get: found.get ?? (() => value),
      set: found.set ?? (() => fail('read_only', what + '.' + name + ' cannot be assigned')),
      enumerable: true,
    });
  }
  return object;
}

function showAs(object, show) {
  defineProperty(object, SHOW, {__proto__: null, value: show});
  defineProperty(object, 'toString', {
    __proto__: null,
    value() { const shown = apply(show, this, []); return typeof shown === 'string' ? shown : joined(shown); },
  });
  return object;
}

// Rows as text.
function joined(rows) {
  let text = '';
  for (let i = 0; i < rows.length; i++) {
    for (let j = 0; j < rows[i].length; j++) text += (j > 0 ? '\t' : i > 0 ? '\n' : '') + rows[i][j];
  }
  return text;
}

// One of the API's own objects, such as `breakpoint`.
function api(what, members, show) {
  const names = Object.keys(members);
  const object = define(Object.create(guard(what, () => names)), what, members);
  showAs(object, show ?? (() => native.help_line(what)));
  return freeze(object);
}

const later = (what, hint) => () => notYet(what, hint);

// --- state, registers, flags, memory -------------------------------------------------------------

const extendedNames = native.extended_names();
const registerMembers = [...registerNames, 'n', 'keys', 'pc', 'sp', ...extendedNames];
const registers = create(guard('registers', () => registerMembers));
const registersBig = create(guard('registers.n', () => registerNames));
const flags = create(guard('flags', () => keysOf(flags)));
const WHOLE = 27;

define(registers, 'registers', {
  keys() {
    const names = [];
    for (let i = 0; i < WHOLE; i++) append(names, registerNames[i]);
    return names;
  },
});
for (const name of extendedNames) {
  defineProperty(registers, name, {
    get() { return native.extended(this, name); },
    set(value) { native.set_extended(this, name, value); },
    enumerable: false,
  });
}

// A register a line, then zeroes in one.
showAs(registers, function () {
  if (this.pc === undefined) return 'registers were not read at that stop';
  let lines = '', zero = '';
  for (let i = 0; i < WHOLE; i++) {
    const name = registerNames[i], value = this[name];
    if (value === 0) zero += (zero ? ' ' : '0\t') + name;
    else lines += (lines ? '\n' : '') + name + '\t' + native.hex(value);
  }
  return lines + (lines && zero ? '\n' : '') + zero;
});
showAs(registersBig, () => native.help_line('registers.n'));
const FLAGS = 'zcsopadit';
function flagsText(view) {
  let text = '';
  for (let i = 0; i < FLAGS.length; i++) text += (i > 0 ? ' ' : '') + FLAGS[i] + '=' + (view[FLAGS[i]] ?? '?');
  return text;
}
showAs(flags, function () { return flagsText(this); });

const readers = native.memory_types();

class Memory {
  #view; #addr;
  constructor(view, addr) { this.#view = view; this.#addr = addr; }
  static read(memory, type) { return native.read(memory.#view, memory.#addr, type); }
  static call(memory, name, a, b) { return native[name](memory.#view, memory.#addr, a, b); }
  static addr(memory) { return memory.#addr; }
  static writer(memory) { return new MemoryWriter(memory.#view, memory.#addr); }
}
class MemoryWriter {
  #view; #addr;
  constructor(view, addr) { this.#view = view; this.#addr = addr; }
  static call(writer, name, a, b) { return native[name](writer.#view, writer.#addr, a, b); }
}

const memoryMembers = {
  get addr() { return Memory.addr(this); },
  get write() { return Memory.writer(this); },
  bytes(n) { return Memory.call(this, 'read_bytes', n); },
  str(max) {
    if (typeof max === 'string') native.reads_only('str', max);
    return Memory.call(this, 'read_string', max);
  },
  array(type, n) { return Memory.call(this, 'read_array', type, n); },
  find(bytes, length) { return Memory.call(this, 'find', bytes, length); },
};
const writerMembers = {
  bytes(bytes) { return MemoryWriter.call(this, 'write_bytes', bytes); },
  str(text) { return MemoryWriter.call(this, 'write_string', text); },
};
readers.forEach((name, type) => {
  memoryMembers[name] = function (value) {
    if (arguments.length > 0) native.reads_only(name, value);
    return Memory.read(this, type);
  };
  const writer = 'write.' + name;
  writerMembers[name] = function (value) {
    if (arguments.length !== 1) fail('bad_argument', writer + ': takes one value', 'state.memory(addr).' + writer + '(value)');
    return MemoryWriter.call(this, 'write', type, value);
  };
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
const memoryWords = memoryNames.join(' ');
showAs(Memory.prototype, function () { return 'memory at ' + native.hex(Memory.addr(this)) + '\t' + memoryWords; });
showAs(MemoryWriter.prototype, () => native.help_line('memory.write'));
for (const object of [Memory, Memory.prototype, MemoryWriter, MemoryWriter.prototype]) freeze(object);

const state = create(guard('state', () => keysOf(state)));
const placeOf = view => { const pc = view.pc; return pc === undefined ? undefined : native.place(pc); };
const liveOnly = (view, what) => { if (native.is_past(view)) fail('bad_argument', what + ' needs the present stop', 'state.' + what); };

const MISSING = {__proto__: null, column: 1, locals: 1, args: 1, frame: 1};

define(state, 'state', {
  memory(addr) { return new Memory(this, native.address(addr)); },
  get instruction() {
    const pc = this.pc;
    if (pc === undefined) return undefined;
    const {addr, bytes, text, operands} = native.instructions(pc, 1)[0];
    return showAs({addr, bytes, mnemonic: text, operands}, () => text);
  },
  disasm(n, addr) {
    return native.disassembly(addr === undefined ? this.pc : native.address(addr), n ?? 10);
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
    const read = {__proto__: null, 0: 'u64', 1: 'u8', 2: 'u16', 4: 'u32', 8: 'u64'}[size];
    if (!read) {
      fail('bad_argument', full + ' has ' + size + ' bytes, not those of a number',
        'state.memory(' + native.hex(addr) + ').bytes(' + size + ')');
    }
    return this.memory(addr)[read]();
  },
  keys() {
    const all = keysOf(state), names = [];
    for (let i = 0; i < all.length; i++) if (!(all[i] in MISSING)) append(names, all[i]);
    return names;
  },
});
showAs(state, function () {
  const pc = this.pc;
  if (pc === undefined) return 'nothing was read at that stop';
  const instruction = native.is_past(this) ? '' : 'instr\t' + this.instruction.mnemonic + '\n';
  const place = joined([native.place_words(pc)]);
  return 'pc\t' + place + '\nsp\t' + native.hex(this.sp) + '\n' + instruction + 'flags\t' + flagsText(this.flags);
});

// --- events --------------------------------------------------------------------------------------

function stopRows(event) {
  const row = [event.reason], rows = [row];
  if (event.detail) append(row, event.detail);
  if (event.pc !== undefined) appendAll(row, native.place_words(event.pc));
  const also = event.also ?? [];
  for (let i = 0; i < also.length; i++) {
    append(rows, also[i].detail ? ['also', also[i].reason, also[i].detail] : ['also', also[i].reason]);
  }
  if (event.summary) appendAll(rows, summaryRows(event.summary));
  return rows;
}

// A batch of steps: one row for each kind of thing that happened in it, the most frequent first.
const SUMMARY_SHOWN = 12;
function summaryRows({first, symbol, calls, loops, syscalls, sp_min, sp_max}) {
  const rows = [symbol === native.hex(first) ? ['from', symbol] : ['from', native.hex(first), symbol]];
  appendCounts(rows, 'calls', calls, 1);
  appendCounts(rows, 'loops', loops, 2);
  appendCounts(rows, 'syscalls', syscalls, 1);
  if (sp_min !== sp_max) append(rows, ['sp', native.hex(sp_min), native.hex(sp_max)]);
  // A few instructions in a row need no story.
  return rows.length === 1 ? [] : rows;
}

// One row on those that were counted at least so often.
function appendCounts(rows, kind, list, least) {
  const row = [kind], told = {__proto__: null};
  let count = 0;
  for (let i = 0; i < list.length; i++) if (list[i].count >= least) count++;
  while (row.length <= SUMMARY_SHOWN && row.length <= count) {
    let most = -1;
    for (let i = 0; i < list.length; i++) {
      const isNext = !told[i] && list[i].count >= least;
      if (isNext && (most < 0 || list[i].count > list[most].count)) most = i;
    }
    told[most] = true;
    append(row, list[most].count > 1 ? list[most].name + ' x' + list[most].count : list[most].name);
  }
  if (count > SUMMARY_SHOWN) append(row, count - SUMMARY_SHOWN + ' more');
  if (count > 0) append(rows, row);
}
const summary = showAs({}, function () { return summaryRows(this); });
const stopEvent = showAs({}, function () { return stopRows(this); });
const event = showAs({
  get pc() { return this.state.pc; },
  get prev() { return native.previous(); },
}, function () { return stopRows(this); });

// --- globals -------------------------------------------------------------------------------------

const ctx = {};
defineProperty(ctx, 'reset', {
  value: function reset() {
    const all = ownKeys(ctx);
    for (let i = 0; i < all.length; i++) if (all[i] !== 'reset') deleteProperty(ctx, all[i]);
  },
});

const listen = "addEventListener('breakpoint', e => condition ? 'stop' : 'continue')";
const threadHint = 'one thread so far: state.tid, step(), cont()';
const print = native.print;

const globals = {
  __proto__: null,
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
  }, function () {
    return joined([['budget', this.budget], ['timeout', this.timeout], ['js_timeout', this.js_timeout], ['follow', this.follow]]);
  }),
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
  functions = new NameMap();
  const all = keysOf(globals);
  for (let i = 0; i < all.length; i++) {
    const name = all[i], value = globals[name];
    if (typeof value === 'function' && name !== '__cont__') mapSet(functions, value, name);
    else if (typeof value === 'object' && name !== 'ctx' && name !== 'config' && name !== 'state') {
      const members = keysOf(value);
      for (let j = 0; j < members.length; j++) {
        const member = value[members[j]];
        if (!mapHas(functions, member)) mapSet(functions, member, name + '.' + members[j]);
      }
    }
  }
}
const NameMap = Map;

// What an API object says of itself.
function show(value) {
  if (typeof value === 'function') {
    if (functions === undefined) nameFunctions();
    const name = mapGet(functions, value);
    return name === undefined ? undefined : native.help_line(name);
  }
  const how = value[SHOW];
  return typeof how === 'function' ? apply(how, value, []) : undefined;
}

// --- what other objects are, for the echo --------------------------------------------------------

// What an object says of itself, when it or its class has a word on that.
function ownWords(value) {
  if (value === global) return globalWords();
  for (let owner = value; owner !== null && owner !== objectPrototype; owner = getPrototypeOf(owner)) {
    if (getOwnPropertyDescriptor(owner, 'toString') === undefined) continue;
    const method = value.toString;
    const text = typeof method === 'function' ? apply(method, value, []) : undefined;
    return typeof text === 'string' ? text : undefined;
  }
  return undefined;
}

// The names that scripts have made, which are those that were not there before.
const NAMES_SHOWN = 40, given = create(null);
function globalWords() {
  const all = keysOf(global);
  let text = 'globalThis', count = 0;
  for (let i = 0; i < all.length; i++) {
    if (all[i] in given) continue;
    if (++count > NAMES_SHOWN) return text + ' …';
    text += (count > 1 ? ' ' : '\t') + all[i];
  }
  return text;
}

// What to call an object without properties; undefined for a plain one.
const bufferSize = getter(ArrayBuffer.prototype, 'byteLength');
function className(value) {
  const tag = slice(objectTag(value), 8, -1);
  if (tag === 'ArrayBuffer') return 'ArrayBuffer(' + bufferSize(value) + ')';
  if (tag !== 'Object') return tag;
  const prototype = getPrototypeOf(value);
  if (prototype === null || prototype === objectPrototype) return undefined;
  const constructor = getOwnPropertyDescriptor(prototype, 'constructor')?.value;
  const name = typeof constructor === 'function' ? getOwnPropertyDescriptor(constructor, 'name')?.value : undefined;
  return typeof name === 'string' && name !== '' ? name + ' {}' : undefined;
}

const mapEntries = unbound(Map.prototype.entries), setValues = unbound(Set.prototype.values);
const nextEntry = unbound(getPrototypeOf(new Map().entries()).next);
const nextValue = unbound(getPrototypeOf(new Set().values()).next);
const mapSize = getter(Map.prototype, 'size'), setSize = getter(Set.prototype, 'size');

// At most `max` items of a Map or a Set.
function items(collection, isMap, max) {
  const iterator = isMap ? mapEntries(collection) : setValues(collection), next = isMap ? nextEntry : nextValue;
  const list = [];
  while (list.length < max) {
    const {done, value} = next(iterator);
    if (done) break;
    append(list, value);
  }
  return list;
}

const source = getter(RegExp.prototype, 'source');
const regexpFlags = ['hasIndices', 'global', 'ignoreCase', 'multiline', 'dotAll', 'unicode', 'unicodeSets', 'sticky']
  .map(name => getter(RegExp.prototype, name));
function regexpText(value) {
  let flags = '';
  for (let i = 0; i < regexpFlags.length; i++) if (regexpFlags[i](value)) flags += 'dgimsuvy'[i];
  return '/' + source(value) + '/' + flags;
}

// Called when the constants are in place: the same names as properties of the global object.
function seal() {
  const expose = (name, get) => defineProperty(global, name, {
    get, enumerable: name !== '__cont__',
    set: () => fail('read_only', name + ' cannot be assigned', 'keep your data in ctx'),
  });
  for (const [name, value] of Object.entries(globals)) expose(name, () => value);
  expose('continue', () => globals.cont);
  expose('prev', () => native.previous());
  defineProperty(BigInt.prototype, 'toJSON', {
    value() { return this < 0n ? '-0x' + bigText(-this, 16) : '0x' + bigText(this, 16); },
    writable: true, configurable: true,
  });
  for (const name of keysOf(global)) given[name] = true;
  for (const object of [state, registers, registersBig, flags, event, stopEvent, summary]) freeze(object);
  keepGlobalOpen();
}

// A frozen global object would take no variable of any later program.
function keepGlobalOpen() {
  for (const [holder, name] of [[Object, 'freeze'], [Object, 'seal'], [Object, 'preventExtensions'], [Reflect, 'preventExtensions']]) {
    const original = holder[name];
    const {[name]: checked} = {
      [name](object) {
        if (object === global) fail('read_only', 'the global object stays open for the programs to come', 'freeze objects of your own');
        return original(object);
      },
    };
    defineProperty(holder, name, {value: checked, writable: true, configurable: true});
  }
}

return {
  make_error: (code, message, hint) => new DebuggerError(code, message, hint),
  show, own_words: ownWords, class_name: className, items,
  map_size: mapSize, set_size: setSize, indexed_size: getter(getPrototypeOf(Uint8Array.prototype), 'length'),
  inherited_then: () => typeof objectPrototype.then === 'function',
  to_text: value => textOf(value),
  function_text: unbound(Function.prototype.toString), date_text: unbound(Date.prototype.toString), regexp_text: regexpText,
  state, registers, registers_big: registersBig, flags, event, stop_event: stopEvent, summary,
  globals, seal,
};
})
