//! stdin.write, stdin.close, stdout.read, stderr.read.

use super::{Answer, Entry};
use crate::script::convert;
use crate::script::error::Error;
use crate::script::raw::{Call, text};
use crate::session::info::Stream;
use crate::session::session::Session;

pub const NATIVES: &[Entry] = &[
    ("stdin_write", write),
    ("stdin_close", close),
    ("stdout_read", read_stdout),
    ("stderr_read", read_stderr),
];

/// Bytes that one read returns at most, and unless asked otherwise.
const READ_MAX: usize = 1 << 20;
const READ_DEFAULT: usize = 64 << 10;

fn write<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let text = call.arg(0);
    if !text.is_string() {
        return Err(Error::argument_hint(
            format!("stdin.write: {} is not a string", convert::describe(&text)),
            "stdin.write('a line\\n')",
        ));
    }
    let bytes = text::to_bytes(&text);
    let written = call.host.ask(|session| session.write_stdin(&bytes))?;
    convert::count(call.ctx, written)
}

fn close<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    call.host.ask(Session::close_stdin)?;
    Ok(call.undefined())
}

fn read_stdout<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    read(call, Stream::Stdout, "stdout.read")
}

fn read_stderr<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    read(call, Stream::Stderr, "stderr.read")
}

fn read<'js>(call: &Call<'_, 'js>, stream: Stream, what: &str) -> Answer<'js> {
    let (mut from, mut max) = (None, READ_DEFAULT);
    if let Some(options) = convert::options(&call.arg(0), what, &["from", "max"])? {
        let start: rquickjs::Value<'js> = options.get("from")?;
        if !start.is_undefined() {
            from = Some(convert::unsigned(&start, what)?);
        }
        max = convert::count_or(&options.get("max")?, what, max, 1, READ_MAX)?;
    }
    call.host.pull_output();
    let chunk = call
        .host
        .ask(|session| session.read_output(stream, from, max))?;
    if from.is_some_and(|from| from < chunk.kept_from) {
        let note = format!("~ {what}: bytes before {} are gone", chunk.kept_from);
        call.host.payload(|payload| payload.note(&note));
    }
    call.bytes(&chunk.bytes)
}
