//! The raw QuickJS calls that the safe API lacks or makes too slow, each behind a total, safe function.
//!
//! Register reads run once or more per single step, so they are C getters with a magic number (one
//! per register) on a shared prototype, and listeners are called without building argument lists.
#![allow(unsafe_code)]

pub mod text;
pub mod view;

use super::error::Error;
use super::host::Host;
use rquickjs::{Ctx, Function, Value, qjs};
use std::ffi::{CStr, CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::rc::Rc;

/// A function of the API: takes arguments, converts, asks the session, converts back.
pub type Native = for<'js> fn(&Call<'_, 'js>) -> Result<Value<'js>, Error>;

/// The arguments of one call from a script.
pub struct Call<'a, 'js> {
    pub ctx: &'a Ctx<'js>,
    pub host: &'a Host,
    args: &'a [qjs::JSValue],
}

impl<'js> Call<'_, 'js> {
    /// The argument at `index`; undefined when it was not given.
    pub fn arg(&self, index: usize) -> Value<'js> {
        match self.args.get(index) {
            // SAFETY: arguments are live values of this context for the time of the call; the
            // duplicate has its own reference.
            Some(&raw) => unsafe {
                let raw = qjs::JS_DupValue(self.ctx.as_raw().as_ptr(), raw);
                Value::from_raw(self.ctx.clone(), raw)
            },
            None => Value::new_undefined(self.ctx.clone()),
        }
    }

    /// How many arguments were given.
    pub fn count(&self) -> usize {
        self.args.len()
    }

    pub fn undefined(&self) -> Value<'js> {
        Value::new_undefined(self.ctx.clone())
    }

    pub fn null(&self) -> Value<'js> {
        Value::new_null(self.ctx.clone())
    }

    pub fn flag(&self, value: bool) -> Value<'js> {
        Value::new_bool(self.ctx.clone(), value)
    }

    /// A string that need not be UTF-8.
    pub fn bytes(&self, bytes: &[u8]) -> Result<Value<'js>, Error> {
        text::from_bytes(self.ctx, bytes)
    }

    pub fn text(&self, text: &str) -> Result<Value<'js>, Error> {
        let text = rquickjs::String::from_str(self.ctx.clone(), text)?;
        Ok(text.into_value())
    }
}

/// Makes `host` known to every native function that this context calls. The caller keeps the host
/// alive for as long as the context lives.
pub fn attach_host(ctx: &Ctx<'_>, host: &Rc<Host>) {
    // SAFETY: rquickjs keeps its own data in the runtime's opaque pointer and leaves the context's unused.
    unsafe { qjs::JS_SetContextOpaque(ctx.as_raw().as_ptr(), Rc::as_ptr(host).cast_mut().cast()) };
}

/// The host of a context that a native function was called with.
///
/// # Safety
/// `ctx` must be a live context that `attach_host` was called on, its host alive.
unsafe fn host_of<'a>(ctx: *mut qjs::JSContext) -> &'a Host {
    // SAFETY: by this function's contract the pointer is the one that `attach_host` stored.
    unsafe { &*qjs::JS_GetContextOpaque(ctx).cast::<Host>() }
}

/// Runs the Rust side of a call: errors become exceptions, a panic never crosses the C frames.
///
/// # Safety
/// As `host_of`; called by QuickJS on the engine's thread.
unsafe fn enter(
    raw: *mut qjs::JSContext,
    body: impl for<'js> FnOnce(&Ctx<'js>, &Host) -> Result<Value<'js>, Error>,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls with a live context, whose lock the engine holds while scripts run.
    let (ctx, host) = unsafe { (Ctx::from_raw(NonNull::new_unchecked(raw)), host_of(raw)) };
    match catch_unwind(AssertUnwindSafe(|| body(&ctx, host))) {
        // SAFETY: duplicates a live value; the reference goes to the caller.
        Ok(Ok(value)) => unsafe { qjs::JS_DupValue(raw, value.as_raw()) },
        Ok(Err(error)) => {
            error.throw(&ctx, host);
            qjs::JS_EXCEPTION
        }
        Err(panic) => {
            host.record_panic(panic.as_ref());
            Error::Ended.throw(&ctx, host);
            qjs::JS_EXCEPTION
        }
    }
}

unsafe extern "C" fn call_native(
    ctx: *mut qjs::JSContext,
    _this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue {
    let count = usize::try_from(argc).unwrap_or(0);
    let args: &[qjs::JSValue] = if argv.is_null() {
        &[]
    } else {
        // SAFETY: QuickJS passes `argc` live values.
        unsafe { std::slice::from_raw_parts(argv, count) }
    };
    // SAFETY: called by QuickJS on a context of ours.
    unsafe {
        enter(ctx, |ctx, host| {
            let native = host.native(magic).ok_or(Error::Ended)?;
            native(&Call { ctx, host, args })
        })
    }
}

/// A script function that runs the native with this index in the host's table.
pub fn native_function<'js>(ctx: &Ctx<'js>, name: &str, index: usize) -> Result<Value<'js>, Error> {
    let function = qjs::JSCFunctionType {
        generic_magic: Some(call_native),
    };
    let kind = qjs::JSCFunctionEnum_JS_CFUNC_generic_magic;
    let magic = c_int::try_from(index).unwrap_or(c_int::MAX);
    new_function(ctx, name, function, kind, magic)
}

fn new_function<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    function: qjs::JSCFunctionType,
    kind: qjs::JSCFunctionEnum,
    magic: c_int,
) -> Result<Value<'js>, Error> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the union member was set that `kind` names; the name is copied.
    unsafe {
        let raw = qjs::JS_NewCFunction2(
            ctx.as_raw().as_ptr(),
            function.generic,
            name.as_ptr(),
            0,
            kind,
            magic,
        );
        own(ctx, raw)
    }
}

/// Takes over a value that QuickJS returned.
///
/// # Safety
/// `raw` must be an owned value of this context, or the exception marker.
unsafe fn own<'js>(ctx: &Ctx<'js>, raw: qjs::JSValue) -> Result<Value<'js>, Error> {
    // SAFETY: by contract.
    unsafe {
        if qjs::JS_IsException(raw) {
            return Err(Error::Thrown);
        }
        Ok(Value::from_raw(ctx.clone(), raw))
    }
}

/// Calls a listener with one argument. Nothing is allocated on this side.
pub fn call_listener<'js>(
    listener: &Function<'js>,
    event: &Value<'js>,
) -> Result<Value<'js>, Error> {
    let ctx = listener.ctx();
    let mut args = [event.as_raw()];
    // SAFETY: function and argument are live values of this context; JS_Call takes no ownership.
    unsafe {
        let raw = qjs::JS_Call(
            ctx.as_raw().as_ptr(),
            listener.as_value().as_raw(),
            qjs::JS_UNDEFINED,
            1,
            args.as_mut_ptr(),
        );
        own(ctx, raw)
    }
}

/// The largest integer up to which every integer is a Number (ECMA-262, Number.MAX_SAFE_INTEGER).
pub const MAX_SAFE: u64 = (1 << 53) - 1;

fn raw_number(ctx: *mut qjs::JSContext, value: u64) -> qjs::JSValue {
    if let Ok(small) = i32::try_from(value) {
        return qjs::JS_MKVAL(qjs::JS_TAG_INT, small);
    }
    if value <= MAX_SAFE {
        // Exact, by the bound above.
        #[allow(clippy::cast_precision_loss)]
        return qjs::JS_NewFloat64(value as f64);
    }
    // SAFETY: only callers with a live context come here.
    unsafe { qjs::JS_NewBigUint64(ctx, value) }
}

/// An unsigned integer for scripts: a Number when that is exact, else a BigInt.
pub fn number<'js>(ctx: &Ctx<'js>, value: u64) -> Result<Value<'js>, Error> {
    let raw = raw_number(ctx.as_raw().as_ptr(), value);
    // SAFETY: just made in this context.
    unsafe { own(ctx, raw) }
}

/// The value of a BigInt between -2^63 and 2^64-1.
pub fn big_int(value: &Value<'_>) -> Option<i128> {
    let ctx = value.ctx().as_raw().as_ptr();
    let mut low = 0i64;
    // SAFETY: live values of this context; what is made here is freed here. The conversion takes
    // the value modulo 2^64, so the result is compared with the original.
    unsafe {
        if !qjs::JS_IsBigInt(value.as_raw())
            || qjs::JS_ToBigInt64(ctx, &raw mut low, value.as_raw()) != 0
        {
            return None;
        }
        let equals = |candidate: qjs::JSValue| {
            let equal = qjs::JS_IsStrictEqual(ctx, candidate, value.as_raw());
            qjs::JS_FreeValue(ctx, candidate);
            equal
        };
        if equals(qjs::JS_NewBigInt64(ctx, low)) {
            return Some(i128::from(low));
        }
        let unsigned = low.cast_unsigned();
        equals(qjs::JS_NewBigUint64(ctx, unsigned)).then(|| i128::from(unsigned))
    }
}

/// What a value of a built-in class is to a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Map,
    Set,
    /// A typed array.
    Indexed,
    Date,
    RegExp,
    Other,
}

pub fn class_of(value: &Value<'_>) -> Class {
    let raw = value.as_raw();
    // SAFETY: the value is live; none of these runs a script.
    unsafe {
        if qjs::JS_IsMap(raw) {
            Class::Map
        } else if qjs::JS_IsSet(raw) {
            Class::Set
        } else if qjs::JS_GetTypedArrayType(raw) >= 0 {
            Class::Indexed
        } else if qjs::JS_IsDate(raw) {
            Class::Date
        } else if qjs::JS_IsRegExp(raw) {
            Class::RegExp
        } else {
            Class::Other
        }
    }
}

/// Throws away the jobs that promises of an ended program left. QuickJS only lets them run; without a
/// stack none of them gets as far as a script's function, so they cannot make new ones for ever.
pub fn discard_jobs(ctx: &Ctx<'_>, stack: usize) {
    let set_stack = |bytes: usize| {
        // SAFETY: a plain number for a live runtime; the limit counts from where this thread stands.
        unsafe {
            let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
            qjs::JS_UpdateStackTop(runtime);
            qjs::JS_SetMaxStackSize(runtime, qjs::size_t::try_from(bytes).unwrap_or(0));
        }
    };
    set_stack(1);
    while ctx.execute_pending_job() {}
    set_stack(stack);
}

/// Bytes that the runtime has allocated. Walks the heap.
pub fn memory_used(ctx: &Ctx<'_>) -> usize {
    // SAFETY: fills a plain struct.
    let bytes = unsafe {
        let mut usage = std::mem::zeroed::<qjs::JSMemoryUsage>();
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_ComputeMemoryUsage(runtime, &raw mut usage);
        usage.malloc_size
    };
    usize::try_from(bytes).unwrap_or(0)
}

/// Makes the pending exception one that no script can catch, as the interrupt handler does.
pub fn throw_uncatchable(ctx: &Ctx<'_>) {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the error object is handed over to JS_Throw.
    unsafe {
        let error = qjs::JS_NewError(raw);
        qjs::JS_SetUncatchableError(raw, error);
        qjs::JS_Throw(raw, error);
    }
}

/// Changes the memory limit while a context is in use, which the safe call cannot.
pub fn set_memory_limit(ctx: &Ctx<'_>, bytes: usize) {
    // SAFETY: a plain number for a live runtime.
    unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_SetMemoryLimit(runtime, qjs::size_t::try_from(bytes).unwrap_or(0));
    }
}

/// The name of a text that is only checked, in stack traces.
pub const FILE_NAME: &CStr = c"<repl>";

/// Compiles as programs are compiled, for the errors alone. After `Error::Exception` the exception is
/// pending in `ctx`.
pub fn compile(ctx: &Ctx<'_>, text: &str) -> Result<(), rquickjs::Error> {
    let file = FILE_NAME.to_str().unwrap_or_default();
    match compile_program(ctx, text, file, Mode::Async) {
        Ok(_) => Ok(()),
        Err(_) => Err(rquickjs::Error::Exception),
    }
}

/// A program that compiled and has not run.
pub struct Compiled<'js>(Value<'js>);

/// How a text is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A sloppy script, its completion value the result.
    Script,
    /// As a script, with `await`: the result is a promise of `{value}`.
    Async,
}

/// Compiles without running; on failure the SyntaxError is the pending exception.
pub fn compile_program<'js>(
    ctx: &Ctx<'js>,
    text: &str,
    file: &str,
    mode: Mode,
) -> Result<Compiled<'js>, Error> {
    let mut flags = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    if mode == Mode::Async {
        flags |= qjs::JS_EVAL_FLAG_ASYNC;
    }
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    let file = CString::new(file).unwrap_or_default();
    // SAFETY: the text is `len` bytes with a NUL behind them, as JS_Eval demands; both live on.
    let value = unsafe {
        let raw = qjs::JS_Eval(
            ctx.as_raw().as_ptr(),
            bytes.as_ptr().cast(),
            qjs::size_t::try_from(text.len()).unwrap_or(0),
            file.as_ptr(),
            c_int::try_from(flags).unwrap_or(0),
        );
        own(ctx, raw)?
    };
    Ok(Compiled(value))
}

impl<'js> Compiled<'js> {
    pub fn run(self) -> Result<Value<'js>, Error> {
        let ctx = self.0.ctx().clone();
        // SAFETY: JS_EvalFunction takes over one reference, which is made for it.
        unsafe {
            let raw_ctx = ctx.as_raw().as_ptr();
            let function = qjs::JS_DupValue(raw_ctx, self.0.as_raw());
            let raw = qjs::JS_EvalFunction(raw_ctx, function);
            own(&ctx, raw)
        }
    }
}
