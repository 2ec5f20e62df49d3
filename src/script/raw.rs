//! Calls of QuickJS that rquickjs has no safe form for.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

use rquickjs::qjs;
use rquickjs::{Ctx, Error};

/// The name of a program in stack traces.
pub const FILE_NAME: &CStr = c"<repl>";

/// Global code, sloppy, with top-level await: as programs are evaluated.
const EVAL_FLAGS: u32 = qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_ASYNC;

/// Compiles without running. After `Error::Exception` the exception is pending in `ctx`.
pub fn compile(ctx: &Ctx<'_>, text: &str) -> Result<(), Error> {
    let source = CString::new(text)?;
    let flags = i32::try_from(EVAL_FLAGS | qjs::JS_EVAL_FLAG_COMPILE_ONLY).unwrap_or_default();
    // SAFETY: the context is alive as long as `ctx`; the source is NUL-terminated at the given
    // length, as JS_Eval demands, and it and the name outlive the call.
    let compiled = unsafe {
        qjs::JS_Eval(
            ctx.as_raw().as_ptr(),
            source.as_ptr(),
            text.len() as _,
            FILE_NAME.as_ptr(),
            flags,
        )
    };
    // SAFETY: the value was just made in this context and nobody else holds it.
    unsafe {
        if qjs::JS_IsException(compiled) {
            return Err(Error::Exception);
        }
        qjs::JS_FreeValue(ctx.as_raw().as_ptr(), compiled);
    }
    Ok(())
}
