//! What `state` and `prev` answer beyond registers and memory.

use super::memory::hex_text;
use super::{Answer, Entry};
use crate::base::addr::VirtAddr;
use crate::output::stop;
use crate::script::convert::{self, Record};
use crate::script::error::Error;
use crate::script::events;
use crate::script::raw::Call;
use crate::session::event::Reason;
use crate::session::info::{FrameInfo, Instruction};
use crate::session::request::Where;
use crate::session::session::Session;
use rquickjs::Ctx;
use std::rc::Rc;

pub const NATIVES: &[Entry] = &[
    ("live_state", live_state),
    ("previous", previous),
    ("is_past", is_past),
    ("tid", tid),
    ("stop_signal", stop_signal),
    ("address", address),
    ("place", place),
    ("place_words", place_words),
    ("symbol_at", symbol_at),
    ("instructions", instructions),
    ("disassembly", disassembly),
    ("backtrace", backtrace),
    ("stack_area", stack_area),
    ("thread_local", thread_local),
];

/// Instructions that one call decodes at most.
const DISASM_MAX: usize = 10_000;
/// Frames: unless asked otherwise, and at most.
const FRAMES: (usize, usize) = (256, 100_000);

fn live_state<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    events::state(call.ctx, call.host, &Rc::default())
}

fn previous<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    events::previous(call.ctx, call.host)
}

/// Where the selected thread's stack begins, may end, and what guards it.
fn stack_area<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let area = call.host.ask(Session::stack_area)?;
    Ok(Record::new(call.ctx)?
        .address("top", area.top)?
        .address("usable_base", area.usable_base)?
        .number("guard_size", area.guard_size)?
        .finish())
}

/// A thread-local variable's address, size and full name.
fn thread_local<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let name = convert::string(&call.arg(0), "thread_local")?;
    let found = call.host.ask(|session| session.thread_local(&name))?;
    Ok(Record::new(call.ctx)?
        .address("addr", found.addr)?
        .number("size", found.size)?
        .text("name", &found.name)?
        .finish())
}

/// Whether a view answers from an earlier stop.
fn is_past<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let source = call.host.view_class()?.source(&call.arg(0));
    Ok(call.flag(source.is_some_and(|source| source.snapshot().is_some())))
}

fn tid<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    match call.host.session(|session| session.tid()) {
        Some(tid) => convert::signed(call.ctx, i64::from(tid.raw())),
        None => Ok(call.null()),
    }
}

/// The signal that the debuggee is stopped with, or null.
fn stop_signal<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let name = call.host.session(|session| {
        let event = session.last_stop()?;
        let mut reasons = std::iter::once(&event.reason).chain(&event.also);
        reasons.find_map(|reason| match reason {
            Reason::Signal(stop) => Some(stop.signal.to_string()),
            _ => None,
        })
    });
    match name {
        Some(name) => call.text(&name),
        None => Ok(call.null()),
    }
}

/// Whatever may stand for an address, resolved and exact.
fn address<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    match convert::place(&call.arg(0), "address")? {
        Where::Addr(addr) => convert::address(call.ctx, addr),
        place @ Where::Text(_) => {
            let addr = call.host.ask(|session| session.resolve(&place))?;
            convert::address(call.ctx, addr)
        }
    }
}

/// Where an address is: {symbol, function, file, line}, each null when unknown.
fn place<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let addr = VirtAddr::new(convert::unsigned(&call.arg(0), "place")?);
    let place = call.host.ask(|session| session.place(addr))?;
    let symbol = place.symbol.as_ref();
    let line = place.line.as_ref();
    let number = line.map(|(_, line)| i64::from(*line));
    Ok(Record::new(call.ctx)?
        .text_or_null("symbol", symbol.map(stop::symbol_words).as_deref())?
        .text_or_null("function", symbol.map(|(name, _)| name.as_str()))?
        .text_or_null("file", line.map(|(file, _)| file.as_str()))?
        .signed_or_null("line", number)?
        .finish())
}

/// An address as the last cells of a stop line, as far as they are known.
fn place_words<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let addr = VirtAddr::new(convert::unsigned(&call.arg(0), "place")?);
    let place = call.host.ask(|session| session.place(addr)).ok();
    let cells = stop::place_cells(addr, place.as_ref());
    convert::texts(call.ctx, &cells)
}

fn symbol_words_at(call: &Call<'_, '_>, addr: VirtAddr) -> Result<Option<String>, Error> {
    let symbol = call.host.ask(|session| session.symbol_at(addr))?;
    Ok(symbol.as_ref().map(stop::symbol_words))
}

fn symbol_at<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let addr = VirtAddr::new(convert::unsigned(&call.arg(0), "symbol_at")?);
    match symbol_words_at(call, addr)? {
        Some(words) => call.text(&words),
        None => Ok(call.null()),
    }
}

/// `n` instructions from an address, with their operands.
fn instructions<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    list_instructions(call, |instruction| {
        let operands = convert::texts(call.ctx, &instruction.operands)?;
        let record = instruction_record(call.ctx, instruction)?;
        Ok(record.with("operands", operands)?.finish())
    })
}

/// The same as rows to read.
fn disassembly<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    list_instructions(call, |instruction| {
        let symbol = symbol_words_at(call, instruction.addr)?;
        let record = instruction_record(call.ctx, instruction)?;
        Ok(record.text_or_null("symbol", symbol.as_deref())?.finish())
    })
}

fn list_instructions<'js>(
    call: &Call<'_, 'js>,
    convert: impl Fn(&Instruction) -> Answer<'js>,
) -> Answer<'js> {
    let count = convert::count_or(&call.arg(1), "disasm", 1, 1, DISASM_MAX)?;
    let addr = VirtAddr::new(convert::unsigned(&call.arg(0), "disasm")?);
    let list = call.host.ask(|session| session.instructions(addr, count))?;
    convert::array(call.ctx, &list, convert)
}

fn instruction_record<'js>(
    ctx: &Ctx<'js>,
    instruction: &Instruction,
) -> Result<Record<'js>, Error> {
    Record::new(ctx)?
        .address("addr", instruction.addr)?
        .text("bytes", &hex_text(&instruction.bytes))?
        .text("text", &instruction.text)
}

fn backtrace<'js>(call: &Call<'_, 'js>) -> Answer<'js> {
    let (default, max) = FRAMES;
    let max = convert::count_or(&call.arg(0), "unwind", default, 1, max)?;
    let backtrace = call.host.ask(|session| session.backtrace(max))?;
    if let Some(why) = &backtrace.truncated {
        let note = format!("~ the stack goes on or is unknown: {why}");
        call.host.payload(|payload| payload.note(&note));
    }
    convert::array(call.ctx, &backtrace.frames, |frame| {
        frame_record(call.ctx, frame)
    })
}

fn frame_record<'js>(ctx: &Ctx<'js>, frame: &FrameInfo) -> Answer<'js> {
    let symbol = frame.symbol.as_ref().map(stop::symbol_words);
    Ok(Record::new(ctx)?
        .number("frame", u64::from(frame.index))?
        .address("pc", frame.pc)?
        .number_or_null("sp", frame.sp.map(VirtAddr::raw))?
        .text_or_null("symbol", symbol.as_deref())?
        .text_or_null("file", frame.file.as_deref())?
        .signed_or_null("line", frame.line.map(i64::from))?
        .flag("inlined", frame.inlined)?
        .finish())
}
