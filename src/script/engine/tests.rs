//! Programs and their replies, without a process.

use super::{Engine, EngineConfig};
use crate::base::code::Code;
use crate::script::api;
use crate::script::help;
use crate::script::raw::view;
use crate::script::reply::{Program, Rejection};
use crate::session::control::Control;
use rquickjs::Value;
use std::sync::Arc;

fn engine() -> Engine {
    let control = Arc::new(Control::new().expect("an eventfd"));
    Engine::new(EngineConfig::new(control)).expect("an engine")
}

/// The payload of each program, evaluated one after the other.
#[track_caller]
fn check(programs: &[(&str, &str)]) {
    let mut engine = engine();
    for (program, expected) in programs {
        let reply = engine.eval(&Program::new(*program));
        let payload = reply.payload.trim_end_matches('\n');
        assert_eq!(payload, *expected, "{program}");
        assert_eq!(reply.ok, reply.code.is_none(), "{program}");
    }
}

/// The code of the error that a program ends with, and what its line contains.
#[track_caller]
fn check_error(program: &str, code: &str, part: &str) {
    let reply = engine().eval(&Program::new(program));
    let line = reply.payload.lines().last().unwrap_or_default();
    assert_eq!(reply.code.map(Code::name), Some(code), "{program}: {line}");
    assert!(line.starts_with(&format!("error\t{code}\t")), "{line}");
    assert!(line.contains(part), "{program}: {line}");
}

#[test]
fn integers_are_exact_and_large_ones_come_in_both_bases() {
    check(&[
        ("1+1", "2"),
        ("65535", "65535"),
        ("0xffffffff", "4294967295\t0xffffffff"),
        ("2**53-1", "9007199254740991\t0x1fffffffffffff"),
        (
            "0xffffffff80001234n",
            "18446744071562072628\t0xffffffff80001234",
        ),
        ("-65536", "-65536"),
        ("1.5", "1.5"),
        ("NaN", "NaN"),
    ]);
}

#[test]
fn other_values_are_shown_tersely() {
    check(&[
        ("undefined", ""),
        ("null", "null"),
        ("'a\\tb'", "a\tb"),
        ("[]", "[]"),
        ("({})", "{}"),
        ("[1, 'x', 65536]", "1\tx\t0x10000"),
        ("[{a: 1, b: 'x'}, {a: 2}]", "a\tb\n1\tx\n2\t"),
        ("[[1, 2], [3]]", "1\t2\n3"),
        ("{a: 1, b: {c: [1, 'y']}}", "a\t1\nb\t{c: [1, 'y']}"),
        ("new Map([['k', {v: 1}]])", "k\t{v: 1}"),
        ("new Set([1, 2])", "1\t2"),
        ("new Uint8Array(3)", "0\t0\t0"),
        ("/x/g", "/x/g"),
        ("Symbol('q')", "Symbol(q)"),
        ("x => x + 1", "x => x + 1"),
        ("new TypeError('t')", "TypeError: t"),
        ("Promise.resolve(1)", "Promise fulfilled 1"),
        ("Promise.resolve([1, 'x'])", "Promise fulfilled [1, 'x']"),
        ("new Promise(() => 1)", "Promise pending"),
        ("-0", "-0"),
        ("[-0, 0]", "-0\t0"),
        ("print(-0)", "0"),
        ("[[]]", "[]"),
        ("[[], [1]]", "[]\n1"),
        ("print('a', 1, [1, 2], 65536)", "a\t1\t1\t2\t65536"),
        ("console.log()", ""),
        ("({a: 'x\\ty'})", "a\tx\\ty"),
        ("print('\\udcff\\udc9b')", "\\xff\\x9b"),
        ("['\\udcff']", "\\xff"),
        ("'\\x1b[1m=1 ok'", "\\x1b[1m=1 ok"),
        ("'=1 ok none'", "\\=1 ok none"),
    ]);
}

#[test]
fn objects_say_what_they_are() {
    check(&[
        ("this", "globalThis"),
        ("globalThis", "globalThis"),
        ("x = 1; y = 2; this", "globalThis\tx y"),
        ("[Math, JSON]", "Math\nJSON"),
        ("new ArrayBuffer(4)", "ArrayBuffer(4)"),
        ("new WeakMap", "WeakMap"),
        ("new Number(5)", "5"),
        ("Object('s')", "s"),
        ("Object(1n)", "1"),
        ("({toString() { return 'hey' }})", "hey"),
        (
            "class P { x = 1; toString() { return `P${this.x}` } }; new P",
            "P1",
        ),
        ("[new P]", "P1"),
        ("class Q {}; new Q", "Q {}"),
        ("class R { x = 1 }; new R", "x\t1"),
        ("Object.create(null)", "{}"),
        (
            "({a: new Q, b: /x/gi, c: new Date(0).getTime()})",
            "a\tQ {}\nb\t/x/gi\nc\t0",
        ),
    ]);
}

#[test]
fn hostile_values_are_bounded() {
    check(&[
        ("var c = {}; c.c = c; c", "c\t{c: {c: {c: {c: …}}}}"),
        ("({get x() { throw new Error('g') }})", "x\tError: g"),
        ("new Proxy([], {get() { throw 1 }})", "{}"),
        (
            "({toString() { throw 1 }})",
            "toString\ttoString() { throw 1 }",
        ),
    ]);
    check_error(
        "Error.prototype.toString = 1; throw {get message() { for (;;); }}",
        "exception",
        "thrown: object",
    );
}

#[test]
fn programs_share_their_globals_and_may_declare_again() {
    check(&[
        ("let x = 1; const y = 2; class A {}; x + y", "3"),
        ("let x = 5; const y = 6; class A {}; x + y", "11"),
        ("z = 3", "3"),
        ("await Promise.resolve(z)", "3"),
        ("const w = await 4; w", "4"),
        ("w + z", "7"),
        ("ctx.a = 1; ctx", "a\t1"),
        ("ctx.reset(); ctx", "{}"),
    ]);
}

#[test]
fn errors_say_where_in_the_agents_own_text() {
    check(&[
        (
            "let a = 1\nnope",
            "error\texception\tReferenceError: nope is not defined at 2:1",
        ),
        (
            "class A {} bad(",
            "error\tsyntax\tSyntaxError: unexpected end of the text at 1:16",
        ),
        ("function f() { g() }", ""),
        (
            "f()",
            "error\texception\tReferenceError: g is not defined at <3>:1:16",
        ),
        ("throw 5", "error\texception\tthrown: 5"),
        (
            "1n + 1",
            "error\texception\tTypeError: cannot convert BigInt to number at 1:5\tconvert with Number(x) or BigInt(x): help('numbers')",
        ),
        (
            "hex(1)\nhex('x')",
            "error\tbad_argument\thex: 'x' is not an integer at 2:1",
        ),
        (
            "Promise.reject(new Error('lost'))",
            "Promise rejected\nerror\texception\tError: lost at 1:20",
        ),
    ]);
}

#[test]
fn an_error_line_is_whole() {
    let long = "x".repeat(100_000);
    check(&[
        (
            "throw 'x'.repeat(100000)",
            &format!("error\texception\tthrown: '{long}'"),
        ),
        (
            "throw new Error('x'.repeat(100000))",
            &format!("error\texception\tError: {long} at 1:20"),
        ),
    ]);
}

#[test]
fn the_api_cannot_be_overwritten() {
    for program in [
        "step = 5",
        "let step = 1",
        "function print() {}",
        "prev = 1",
        "ctx = {}",
        "breakpoint.set = 1",
        "globalThis.print = 1",
        "const {state} = {}",
    ] {
        check_error(program, "read_only", "");
    }
    check(&[("{ let step = 1; step }", "1"), ("(step => step)(2)", "2")]);
}

#[test]
fn unknown_names_are_errors_with_the_near_one() {
    check_error("state.regsiters", "bad_property", "did you mean registers");
    check_error(
        "state.foo = 1",
        "bad_property",
        "state has no property 'foo'",
    );
    check_error("breakpoint.sett", "bad_property", "did you mean set");
    check_error("state.memory(0).u644()", "bad_property", "did you mean u64");
    check_error("config.timeuot = 1", "bad_property", "did you mean timeout");
    check_error("state.registers.raxx", "bad_property", "did you mean rax");
    check_error("state.flags.y", "bad_property", "flags has no property 'y'");
    check_error("spawn({binn: 1})", "bad_argument", "did you mean bin");
    check_error(
        "addEventListener('stpe', x => x)",
        "bad_argument",
        "did you mean step",
    );
    check(&[
        (
            "state.then === undefined && state.toJSON === undefined",
            "true",
        ),
        ("'foo' in state", "false"),
    ]);
}

#[test]
fn addresses_and_numbers_are_checked_on_their_way_in() {
    for (program, part) in [
        ("state.memory(-1)", "-1 is not between 0"),
        ("state.memory(1.5)", "1.5 is not an integer"),
        ("state.memory(2**60)", "beyond 2^53"),
        ("state.memory(2n**64n)", "more than 64 bits"),
        ("state.memory({})", "object is not an address"),
        ("state.memory()", "undefined is not an address"),
        ("state.memory('')", "the text is empty"),
        ("step(0)", "step: 0 is not between 1"),
        ("step(-1)", "-1 is not between 1"),
        ("step('x')", "'x' is not an integer"),
        ("cont({timeout: -1})", "-1 is not a number of milliseconds"),
        ("cont({tiemout: 1})", "did you mean timeout"),
        ("cont({signal: 'SIGFOO'})", "'SIGFOO' is no signal"),
        ("config.budget = 10", "10 is not between 500"),
        ("align_up(1, 3)", "3 is not a power of two"),
        (
            "signal.handle('SIGUSR1', {stop: 1})",
            "1 is not true or false",
        ),
        (
            "spawn({bin: '/bin/true', limits: {nofiel: 1}})",
            "unknown option 'nofiel'",
        ),
        (
            "spawn({bin: '/bin/true', limits: {core: -1}})",
            "core: -1 is not",
        ),
    ] {
        check_error(program, "bad_argument", part);
    }
}

#[test]
fn helpers_work_on_all_64_bits() {
    check(&[
        ("hex(-1)", "-0x1"),
        ("hex(0xffffffffffffffffn)", "0xffffffffffffffff"),
        (
            "band(0xffffffffffffffffn, 0xff00000000)",
            "1095216660480\t0xff00000000",
        ),
        ("bor(1, 2, 4)", "7"),
        ("bxor(-1, 0)", "18446744073709551615\t0xffffffffffffffff"),
        ("bnot(0xffffffffffffff00n)", "255"),
        ("shl(1, 63)", "9223372036854775808\t0x8000000000000000"),
        ("shl(1, 64)", "0"),
        ("shr(0x8000000000000000n, 63)", "1"),
        ("s64(0xffffffffffffffffn)", "-1"),
        ("s64(0x8000000000000000n)", "-9223372036854775808"),
        ("u64(-1)", "18446744073709551615\t0xffffffffffffffff"),
        ("align_down(4097, 4096)", "4096"),
        ("align_up(4097, 4096)", "8192"),
        ("typeof u64(1)", "number"),
        (
            "JSON.stringify({a: 10n, b: -1n})",
            "{\"a\":\"0xa\",\"b\":\"-0x1\"}",
        ),
    ]);
}

#[test]
fn without_a_process_everything_says_so() {
    for program in [
        "state.pc",
        "state.registers.rax",
        "state.flags.z",
        "state.pc = 1",
        "step()",
        "cont()",
        "continue()",
        "kill()",
        "state.memory(0x1000).u8()",
        "backtrace()",
    ] {
        check_error(program, "no_process", "spawn(");
    }
    check_error("wait(1)", "not_running", "background");
    check_error("interrupt()", "not_running", "background");
    check(&[("prev", "null"), ("breakpoint.list()", "[]")]);
}

#[test]
fn what_comes_later_says_what_works_now() {
    for program in [
        "thread.list()",
        "processes()",
        "processes.select(1)",
        "hang()",
        "frame(1)",
        "frames()",
        "source()",
        "state.locals",
        "config.follow = 'child'",
    ] {
        let reply = engine().eval(&Program::new(program));
        assert_eq!(
            reply.code,
            Some(Code::NotYet),
            "{program}: {}",
            reply.payload
        );
        assert_eq!(reply.payload.trim_end().split('\t').count(), 4, "{program}");
    }
}

#[test]
fn listeners_are_kept_by_type_and_id() {
    check(&[
        ("addEventListener('step', e => 1)", "1"),
        (
            "f = e => 2; addEventListener('step', f); addEventListener('exit', f)",
            "3",
        ),
        (
            "listeners()",
            "id\ttype\tlistener\n1\tstep\te => 1\n2\tstep\te => 2\n3\texit\te => 2",
        ),
        ("removeEventListener('step', f)", "1"),
        ("removeEventListener('step', 1)", "1"),
        ("removeEventListener('step')", "0"),
        ("listeners().length", "1"),
    ]);
    check_error("removeEventListener('step', 9)", "no_listener", "9");
}

#[test]
fn a_script_that_runs_too_long_is_ended_and_the_next_one_runs() {
    for endless in [
        "for (;;);",
        "for (;;) try { for (;;); } catch {} finally { continue }",
        "(function f() { return Promise.resolve().then(f) })()",
        "async function f() { for (;;) await 1 }; await f()",
        "throw {toString() { for (;;); }, get message() { for (;;); }}, print({get x() { for (;;); }})",
        "({get x() { for (;;); }})",
        "new Proxy({}, {ownKeys() { for (;;); }})",
        "print(new Proxy({a: 1}, {get() { for (;;); }}))",
        "/(a+)+b/.test('a'.repeat(40))",
    ] {
        let mut engine = engine();
        engine.eval(&Program::new("config.js_timeout = 50"));
        let reply = engine.eval(&Program::new(endless));
        assert!(
            matches!(reply.code, Some(Code::ScriptTimeout | Code::Exception)),
            "{endless}: {}",
            reply.payload
        );
        let reply = engine.eval(&Program::new("1 + 1"));
        assert_eq!(reply.payload, "2\n", "{endless}");
    }
}

#[test]
fn memory_and_stack_run_out_and_come_back() {
    check(&[
        (
            "let a = []; for (;;) a.push('x'.repeat(100000) + a.length)",
            "error\tout_of_memory\tscript out of memory (64 MiB)\tctx.reset(), or let go of what globals hold",
        ),
        ("1 + 1", "2"),
        ("a.length > 100", "true"),
        ("a = undefined; 'x'.repeat(1e6).length", "1000000\t0xf4240"),
        (
            "(function f() { f() })()",
            "error\tstack_overflow\ttoo much recursion at 1:16",
        ),
        ("1 + 1", "2"),
    ]);
    check_error(
        "let a = {}; for (;;) a = {a, b: [1, 2, 3]}",
        "out_of_memory",
        "64 MiB",
    );
    check_error("JSON.parse('['.repeat(1e6))", "stack_overflow", "");
}

#[test]
fn an_interrupt_ends_the_program() {
    let mut engine = engine();
    let control = Arc::clone(&engine.control);
    control.interrupt();
    let reply = engine.eval(&Program::new("for (;;);"));
    assert_eq!(reply.code, Some(Code::Interrupted));
    let reply = engine.eval(&Program::new("1"));
    assert!(
        reply.ok,
        "an interrupt is for one program: {}",
        reply.payload
    );
}

#[test]
fn nothing_of_the_system_is_reachable() {
    check(&[(
        "['std', 'os', 'require', 'process', 'Deno', 'fetch', 'setTimeout', 'bjson', 'scriptArgs'].filter(n => n in globalThis)",
        "[]",
    )]);
}

#[test]
fn every_global_of_the_contract_is_there() {
    let names: Vec<_> = api::GLOBALS
        .iter()
        .map(|name| format!("'{name}'"))
        .collect();
    let program = format!("[{}].filter(n => !(n in globalThis))", names.join(", "));
    check(&[(program.as_str(), "[]")]);
}

/// What the contract says an object has, and what it has.
#[track_caller]
fn check_members(declared: &str, live: &str) {
    let declared = help::members(declared);
    assert!(!declared.is_empty());
    let program = format!("{live}.sort().join(' ')");
    let reply = engine().eval(&Program::new(program));
    assert_eq!(reply.payload.trim_end(), declared.join(" "));
}

#[test]
fn the_contract_and_the_api_have_the_same_members() {
    for name in [
        "breakpoint",
        "watchpoint",
        "thread",
        "signal",
        "stdin",
        "stdout",
        "stderr",
        "console",
        "config",
    ] {
        check_members(name, &format!("Object.keys({name})"));
    }
    check_members("State", "state.keys()");
    let prototype = "Object.keys(Object.getPrototypeOf(state.memory(0)))";
    check_members("Memory", prototype);
}

#[test]
fn a_refused_input_is_a_reply_with_a_number() {
    let mut engine = engine();
    let reply = engine.reject(&Rejection {
        code: Code::Command,
        message: "no commands here".to_owned(),
        hint: Some("use step(3)".to_owned()),
    });
    assert_eq!(
        reply.payload,
        "error\tcommand\tno commands here\tuse step(3)\n"
    );
    let reply = engine.eval(&Program::new("\nnope"));
    assert!(reply.payload.contains("at 2:1"), "{}", reply.payload);
}

#[test]
fn an_object_that_is_kept_is_counted() {
    let engine = engine();
    let context = engine.context.as_ref().expect("a context");
    context.with(|ctx| {
        let object: Value<'_> = ctx.eval("({})").expect("an object");
        assert_eq!(view::reference_count(&object), 1);
        let second = object.clone();
        assert_eq!(view::reference_count(&second), 2);
        ctx.globals().set("kept", object).expect("set");
        assert_eq!(view::reference_count(&second), 2);
        let number: Value<'_> = ctx.eval("1").expect("a number");
        assert_eq!(view::reference_count(&number), 0);
    });
}
