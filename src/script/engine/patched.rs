//! Scripts may replace what JavaScript has built in: the API does not notice.

use super::{Engine, EngineConfig};
use crate::script::reply::Program;
use crate::session::control::Control;
use std::sync::Arc;

/// Makes a list of everything built in that can be written, and functions to replace one and put it back.
/// They keep what they need for themselves.
const PATCHER: &str = "
ctx.patcher = (() => {
  const {ownKeys, getOwnPropertyDescriptor, defineProperty, getPrototypeOf, apply} = Reflect;
  const has = Set.prototype.has, add = Set.prototype.add;
  const seen = new Set(), list = [];
  const visit = (path, object) => {
    if (object === null || typeof object !== 'object' && typeof object !== 'function') return;
    if (apply(has, seen, [object])) return;
    apply(add, seen, [object]);
    for (const key of ownKeys(object)) {
      const found = getOwnPropertyDescriptor(object, key);
      const name = path + '.' + String(key);
      if (found.configurable || found.writable) list.push({name, object, key, found});
      visit(name, found.value);
      visit(name, found.get);
    }
    visit(path + '.__proto__', getPrototypeOf(object));
  };
  for (const key of ownKeys(globalThis)) {
    const found = getOwnPropertyDescriptor(globalThis, key);
    if (found.get || key === 'globalThis') continue;
    if (found.configurable || found.writable) list.push({name: key, object: globalThis, key, found});
    visit(key, found.value);
  }
  for (const object of [[].values(), ''.matchAll(/x/g), new Map().values(), new Set().values(), (function* () {})(), Promise.resolve()])
    visit('iterator', getPrototypeOf(object));
  const bad = () => { throw 'replaced' };
  const replace = ({object, key, found}) => {
    const now = 'value' in found
      ? {value: bad, writable: true, enumerable: found.enumerable, configurable: found.configurable}
      : {get: bad, set: bad, enumerable: found.enumerable, configurable: found.configurable};
    return defineProperty(object, key, now);
  };
  const restore = ({object, key, found}) => defineProperty(object, key, found);
  return {list, replace, restore};
})(); ctx.patcher.list.length";

/// A session without a process: what it prints, echoes and refuses.
const SESSION: &[&str] = &[
    "state",
    "state.regsiters",
    "state.foo = 1",
    "step()",
    "state.registers",
    "breakpoint",
    "breakpoint.list",
    "breakpoint.list()",
    "breakpoint.set('main', {if: 'state.pc > 1', log: 'x={1+1}', nmae: 1})",
    "config",
    "config.budget = 1",
    "state.memory(-1)",
    "state.memory(4096)",
    "state.memory(4096).u32(1)",
    "state.memory(4096).write.u32(1, 2)",
    "state.memory(4096).read()",
    "state.keys()",
    "state.registers.keys()",
    "hex(255); hex(0xffffffffffffffffn)",
    "band(7, 0xffffffffffffffffn)",
    "symbols(1)",
    "spawn('/nowhere')",
    "spawn({bin: '/nowhere', args: ['a'], env: {A: 'b'}, limits: {core: 0}, cwd: 1})",
    "signal.handle('SIGUSR1', {stop: true})",
    "addEventListener('step', ctx.f)",
    "listeners()",
    "removeEventListener('step')",
    "print([1, 2], {a: [65536, {b: 'x'}]}, -1.5, 1n, null)",
    "[{a: 1, b: 'x'}, {a: 2}]",
    "[[1, 2], []]",
    "ctx.values",
    "wait(1)",
    "prev",
    "help('wait')",
    "console.log('x')",
    "let a = 1; const b = 2; class C {}; a + b",
    "thread.list()",
    "state.locals",
    "continue()",
];

struct Session {
    engine: Engine,
}

impl Session {
    fn start() -> Self {
        let control = Arc::new(Control::new().expect("an eventfd"));
        let engine = Engine::new(EngineConfig::new(control)).expect("an engine");
        let mut session = Self { engine };
        session.say(
            "ctx.f = e => 1; ctx.values = {m: new Map([['k', 1]]), s: new Set([1]), t: new Uint8Array(2), r: /x/g, \
             d: new Date(0), q: Symbol('q'), f: ctx.f, p: Promise.resolve(1)}; ''",
        );
        session
    }

    fn say(&mut self, program: &str) -> String {
        self.engine.eval(&Program::new(program)).payload
    }

    /// All replies of the session. Ids of listeners go up, whatever happens.
    fn replies(&mut self) -> Vec<String> {
        let replies = SESSION.iter().map(|program| self.say(program));
        replies.map(|reply| without_ids(&reply)).collect()
    }
}

fn without_ids(reply: &str) -> String {
    reply
        .lines()
        .map(|line| match line.split_once('\t') {
            Some((id, rest)) if rest.starts_with("step\t") && id.parse::<u32>().is_ok() => rest,
            _ if line.parse::<u32>().is_ok() => "",
            _ => line,
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn every_built_in_may_be_replaced() {
    let mut session = Session::start();
    let count: usize = session
        .say(PATCHER)
        .trim()
        .parse()
        .expect("the number of built-ins");
    assert!(count > 1_000, "{count}");
    let expected = session.replies();
    let mut broken = Vec::new();
    for index in 0..count {
        let entry = format!("ctx.patcher.list[{index}]");
        session.say(&format!("ctx.patcher.replace({entry})"));
        let replies = session.replies();
        session.say(&format!("ctx.patcher.restore({entry})"));
        let pairs = replies.iter().zip(&expected).zip(SESSION);
        let mut changed = pairs.filter(|((now, before), _)| now != before);
        if let Some(((now, _), program)) = changed.next() {
            let name = session.say(&format!("{entry}.name"));
            broken.push(format!("{}: {program} -> {now}", name.trim()));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The session after a program that does harm in another way.
#[track_caller]
fn check(harm: &str) {
    let expected = Session::start().replies();
    let mut session = Session::start();
    session.say(harm);
    assert_eq!(session.replies(), expected, "{harm}");
}

#[test]
fn prototypes_may_be_given_anything() {
    for name in [
        "get",
        "set",
        "value",
        "writable",
        "has",
        "getPrototypeOf",
        "defineProperty",
    ] {
        check(&format!(
            "Object.prototype.{name} = () => {{ throw 'inherited' }}; 0"
        ));
    }
    for name in [
        "timeout", "env", "cwd", "count", "if", "name", "stop", "then", "toJSON", "1", "length",
    ] {
        check(&format!(
            "Object.defineProperty(Object.prototype, '{name}', {{value: 'inherited', writable: true, configurable: true}}); 0"
        ));
    }
    for (object, name) in [
        ("Array", "0"),
        ("Array", "1"),
        ("Object", "code"),
        ("Object", "id"),
        ("Error", "hint"),
    ] {
        check(&format!(
            "Object.defineProperty({object}.prototype, '{name}', {{set() {{ throw 'set' }}, configurable: true}}); 0"
        ));
    }
}

#[test]
fn api_objects_keep_their_prototypes() {
    for object in [
        "state",
        "state.registers",
        "breakpoint",
        "config",
        "DebuggerError",
        "Object.getPrototypeOf(state)",
        "Object.getPrototypeOf(Object.getPrototypeOf(state))",
        "Object.getPrototypeOf(state.memory(1))",
        "DebuggerError.prototype",
    ] {
        check(&format!("Object.setPrototypeOf({object}, null)"));
        check(&format!(
            "Object.assign({object}, {{toString: null, get: null}})"
        ));
        check(&format!(
            "for (const key of Reflect.ownKeys({object})) delete {object}[key]"
        ));
    }
}

#[test]
fn the_global_object_stays_open() {
    for name in [
        "Object.freeze",
        "Object.seal",
        "Object.preventExtensions",
        "Reflect.preventExtensions",
    ] {
        let mut session = Session::start();
        let reply = session.say(&format!("{name}(globalThis)"));
        assert!(
            reply.starts_with("error\tread_only\tthe global object"),
            "{reply}"
        );
        assert_eq!(session.say("let fresh = 1; fresh"), "1\n");
        assert_eq!(
            session.say(&format!("Object.isExtensible({name}([1])) !== true")),
            "true\n"
        );
    }
}

#[test]
fn a_then_of_all_objects_is_told() {
    for then in [
        "resolve => resolve(5)",
        "() => 1",
        "resolve => resolve(Promise.resolve(1))",
    ] {
        let mut session = Session::start();
        session.say(&format!("Object.prototype.then = {then}; 0"));
        let reply = session.say("await ({})");
        assert!(
            reply.starts_with("error\tbad_argument\tObject.prototype.then"),
            "{reply}"
        );
        session.say("delete Object.prototype.then");
        assert_eq!(session.say("await 7"), "7\n");
    }
}
