//! `state`, `registers`, `flags`: objects whose fields are C getters on shared prototypes.
#![allow(unsafe_code)]

use super::{enter, host_of, new_function, own, raw_number};
use crate::arch::registers::RegId;
use crate::script::error::Error;
use crate::script::host::Host;
use crate::session::snapshot::Snapshot;
use rquickjs::{Ctx, Object, Value, qjs};
use std::cell::RefCell;
use std::ffi::{CString, c_int};
use std::ptr;
use std::rc::Rc;

/// What a `state`, its registers or its flags answer from.
#[derive(Default)]
pub struct Source {
    /// None: the present stop.
    frozen: RefCell<Option<Rc<Snapshot>>>,
}

impl Source {
    pub fn snapshot(&self) -> Option<Rc<Snapshot>> {
        self.frozen.borrow().clone()
    }

    /// From now on every answer is what was read at that stop.
    pub fn freeze(&self, snapshot: Rc<Snapshot>) {
        *self.frozen.borrow_mut() = Some(snapshot);
    }
}

/// The native part of a view object.
struct View {
    source: Rc<Source>,
    /// Views that hang below this one: `registers` and `flags` of a state, `n` of registers.
    children: [qjs::JSValue; 2],
}

unsafe extern "C" fn finalize_view(runtime: *mut qjs::JSRuntime, value: qjs::JSValue) {
    // SAFETY: the opaque pointer of a view is null or the box that `new_view` leaked; QuickJS
    // finalizes an object once. The children are owned by the view.
    unsafe {
        let mut class = 0;
        let view = qjs::JS_GetAnyOpaque(value, &raw mut class).cast::<View>();
        if !view.is_null() {
            for child in Box::from_raw(view).children {
                qjs::JS_FreeValueRT(runtime, child);
            }
        }
    }
}

unsafe extern "C" fn mark_view(
    runtime: *mut qjs::JSRuntime,
    value: qjs::JSValue,
    mark: qjs::JS_MarkFunc,
) {
    // SAFETY: as in `finalize_view`; marking only visits the children.
    unsafe {
        let mut class = 0;
        let view = qjs::JS_GetAnyOpaque(value, &raw mut class).cast::<View>();
        if let Some(view) = view.as_ref() {
            for child in view.children {
                qjs::JS_MarkValue(runtime, child, mark);
            }
        }
    }
}

/// The class of view objects, registered once per runtime.
#[derive(Clone, Copy, Debug)]
pub struct ViewClass(qjs::JSClassID);

impl ViewClass {
    pub fn register(ctx: &Ctx<'_>) -> Result<Self, Error> {
        let definition = qjs::JSClassDef {
            class_name: c"State".as_ptr(),
            finalizer: Some(finalize_view),
            gc_mark: Some(mark_view),
            call: None,
            exotic: ptr::null_mut(),
        };
        // SAFETY: the definition is copied; its name is static.
        unsafe {
            let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
            let mut id = 0;
            qjs::JS_NewClassID(runtime, &raw mut id);
            if qjs::JS_NewClass(runtime, id, &raw const definition) != 0 {
                return Err(Error::Thrown);
            }
            Ok(Self(id))
        }
    }

    /// An object with this prototype, answering from `source`, with up to two views below it.
    pub fn instantiate<'js>(
        self,
        prototype: &Object<'js>,
        source: &Rc<Source>,
        children: [Option<&Value<'js>>; 2],
    ) -> Result<Value<'js>, Error> {
        let ctx = prototype.ctx();
        let raw_ctx = ctx.as_raw().as_ptr();
        // SAFETY: the class is registered in this runtime; the box is freed by the finalizer, the
        // children are duplicated for it.
        unsafe {
            let raw = qjs::JS_NewObjectProtoClass(raw_ctx, prototype.as_value().as_raw(), self.0);
            let object = own(ctx, raw)?;
            let children = children.map(|child| match child {
                Some(child) => qjs::JS_DupValue(raw_ctx, child.as_raw()),
                None => qjs::JS_UNDEFINED,
            });
            let source = Rc::clone(source);
            let view = Box::into_raw(Box::new(View { source, children }));
            qjs::JS_SetOpaque(object.as_raw(), view.cast());
            // With that its prototype cannot be changed either.
            if qjs::JS_PreventExtensions(raw_ctx, object.as_raw()) < 0 {
                return Err(Error::Thrown);
            }
            Ok(object)
        }
    }

    /// What a view object answers from; None when the value is no view.
    pub fn source(self, value: &Value<'_>) -> Option<Rc<Source>> {
        // SAFETY: the value is live; the class check makes the pointer a view's.
        unsafe {
            self.view(value.as_raw())
                .map(|view| Rc::clone(&view.source))
        }
    }

    /// Whether somebody else than its makers holds the view, or one of those below it.
    pub fn is_kept(self, value: &Value<'_>, makers: i32) -> bool {
        reference_count(value) > makers
            // SAFETY: as in `source`; the children are live as long as the view is.
            || unsafe { self.view(value.as_raw()) }.is_some_and(|view| {
                view.children
                    .iter()
                    // SAFETY: a child is undefined or a live object that the view holds.
                    .any(|child| unsafe { raw_reference_count(*child) } > 1)
            })
    }

    /// # Safety
    /// `value` must be live for `'a`.
    unsafe fn view<'a>(self, value: qjs::JSValue) -> Option<&'a View> {
        // SAFETY: QuickJS checks the class; a pointer of our class is null or a leaked box.
        unsafe { qjs::JS_GetOpaque(value, self.0).cast::<View>().as_ref() }
    }
}

/// References to an object, the argument's own included; 0 for what is not counted.
pub fn reference_count(value: &Value<'_>) -> i32 {
    // SAFETY: the value is live.
    unsafe { raw_reference_count(value.as_raw()) }
}

/// QuickJS has no call for this. The pinned version keeps the count in the eight bytes before every
/// allocation, as their second half (quickjs.c, `JSMallocBlockHeader`); a unit test watches it.
///
/// # Safety
/// `value` must be live.
unsafe fn raw_reference_count(value: qjs::JSValue) -> i32 {
    // SAFETY: objects are never immediate, and the header stands before each of them.
    unsafe {
        if !qjs::JS_IsObject(value) {
            return 0;
        }
        let object = qjs::JS_VALUE_GET_PTR(value).cast::<c_int>();
        object.sub(1).read()
    }
}

/// What a magic getter on a prototype reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// A register as a Number where that is exact.
    Register(RegId),
    /// A register as a BigInt, always.
    RegisterBig(RegId),
    /// A bit of RFLAGS.
    Flag(u8),
    /// A view below the object.
    Child(u8),
}

/// Defines an accessor on a prototype of views.
pub fn define_field(prototype: &Object<'_>, name: &str, field: Field) -> Result<(), Error> {
    // What holds an address takes whatever stands for one.
    let set: Setter = match name {
        "pc" | "sp" => set_pointer,
        _ => set_register,
    };
    let (getter, setter, magic): (Getter, Setter, c_int) = match field {
        Field::Register(register) => (get_register, set, c_int::from(register.index())),
        Field::RegisterBig(register) => (get_register_big, set, c_int::from(register.index())),
        Field::Flag(bit) => (get_flag, set_flag, c_int::from(bit)),
        Field::Child(index) => (get_child, set_child, c_int::from(index)),
    };
    let ctx = prototype.ctx();
    let get = new_function(
        ctx,
        name,
        qjs::JSCFunctionType {
            getter_magic: Some(getter),
        },
        qjs::JSCFunctionEnum_JS_CFUNC_getter_magic,
        magic,
    )?;
    let set = new_function(
        ctx,
        name,
        qjs::JSCFunctionType {
            setter_magic: Some(setter),
        },
        qjs::JSCFunctionEnum_JS_CFUNC_setter_magic,
        magic,
    )?;
    let key = CString::new(name).unwrap_or_default();
    let raw_ctx = ctx.as_raw().as_ptr();
    // SAFETY: live values of this context; getter and setter are duplicated because the call takes
    // ownership; the atom is freed.
    unsafe {
        let atom = qjs::JS_NewAtom(raw_ctx, key.as_ptr());
        let flags = qjs::JS_PROP_CONFIGURABLE | qjs::JS_PROP_ENUMERABLE;
        let status = qjs::JS_DefinePropertyGetSet(
            raw_ctx,
            prototype.as_value().as_raw(),
            atom,
            qjs::JS_DupValue(raw_ctx, get.as_raw()),
            qjs::JS_DupValue(raw_ctx, set.as_raw()),
            c_int::try_from(flags).unwrap_or(0),
        );
        qjs::JS_FreeAtom(raw_ctx, atom);
        if status < 0 {
            Err(Error::Thrown)
        } else {
            Ok(())
        }
    }
}

type Getter = unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, c_int) -> qjs::JSValue;
type Setter =
    unsafe extern "C" fn(*mut qjs::JSContext, qjs::JSValue, qjs::JSValue, c_int) -> qjs::JSValue;

fn register_of(magic: c_int) -> Option<RegId> {
    RegId::by_index(usize::try_from(magic).ok()?)
}

/// A register of the view; None when it is frozen and nobody read the registers then.
///
/// # Safety
/// As `host_of`; `this` must be live.
unsafe fn read_register(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    register: Option<RegId>,
) -> Result<Option<u64>, Error> {
    // SAFETY: by contract.
    let (host, view) = unsafe {
        let host = host_of(ctx);
        (host, host.view_class()?.view(this))
    };
    let (Some(register), Some(view)) = (register, view) else {
        return Err(Error::NotAView);
    };
    match &*view.source.frozen.borrow() {
        None => host.register(register).map(Some),
        Some(snapshot) => Ok(snapshot
            .registers
            .as_ref()
            .map(|registers| registers.get(register))),
    }
}

/// # Safety
/// As `host_of`.
unsafe fn throw(ctx: *mut qjs::JSContext, error: Error) -> qjs::JSValue {
    // SAFETY: by contract.
    unsafe { enter(ctx, |_, _| Err(error)) }
}

unsafe extern "C" fn get_register(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue {
    // SAFETY: called by QuickJS on a context of ours with live values.
    unsafe {
        match read_register(ctx, this, register_of(magic)) {
            Ok(Some(value)) => raw_number(ctx, value),
            Ok(None) => qjs::JS_UNDEFINED,
            Err(error) => throw(ctx, error),
        }
    }
}

unsafe extern "C" fn get_register_big(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe {
        match read_register(ctx, this, register_of(magic)) {
            Ok(Some(value)) => qjs::JS_NewBigUint64(ctx, value),
            Ok(None) => qjs::JS_UNDEFINED,
            Err(error) => throw(ctx, error),
        }
    }
}

unsafe extern "C" fn get_flag(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    bit: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe {
        match read_register(ctx, this, RegId::by_name("rflags")) {
            Ok(Some(flags)) => {
                let set = u32::try_from(bit).is_ok_and(|bit| flags.unbounded_shr(bit) & 1 == 1);
                qjs::JS_MKVAL(qjs::JS_TAG_INT, i32::from(set))
            }
            Ok(None) => qjs::JS_UNDEFINED,
            Err(error) => throw(ctx, error),
        }
    }
}

unsafe extern "C" fn get_child(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    index: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`; the child is live while the view is.
    unsafe {
        let class = host_of(ctx).view_class().ok();
        let child = class
            .and_then(|class| class.view(this))
            .zip(usize::try_from(index).ok())
            .and_then(|(view, index)| view.children.get(index));
        match child {
            Some(&child) => qjs::JS_DupValue(ctx, child),
            None => throw(ctx, Error::NotAView),
        }
    }
}

/// Runs a setter's body with the owner's source checked: what is past cannot be written.
///
/// # Safety
/// As `host_of`; `this` and `value` must be live.
unsafe fn assign(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    body: impl FnOnce(&Host, &Value<'_>) -> Result<(), Error>,
) -> qjs::JSValue {
    // SAFETY: by contract.
    unsafe {
        enter(ctx, |ctx, host| {
            let view = host.view_class()?.view(this).ok_or(Error::NotAView)?;
            if view.source.frozen.borrow().is_some() {
                return Err(Error::Past);
            }
            let value = qjs::JS_DupValue(ctx.as_raw().as_ptr(), value);
            body(host, &Value::from_raw(ctx.clone(), value))?;
            Ok(Value::new_undefined(ctx.clone()))
        })
    }
}

unsafe extern "C" fn set_register(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe {
        assign(ctx, this, value, |host, value| {
            let register = register_of(magic).ok_or(Error::NotAView)?;
            host.set_register(register, value)
        })
    }
}

unsafe extern "C" fn set_pointer(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    magic: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe {
        assign(ctx, this, value, |host, value| {
            let register = register_of(magic).ok_or(Error::NotAView)?;
            host.set_pointer(register, value)
        })
    }
}

unsafe extern "C" fn set_flag(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    value: qjs::JSValue,
    bit: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe {
        assign(ctx, this, value, |host, value| {
            host.set_flag(u32::try_from(bit).unwrap_or(0), value)
        })
    }
}

unsafe extern "C" fn set_child(
    ctx: *mut qjs::JSContext,
    _this: qjs::JSValue,
    _value: qjs::JSValue,
    _index: c_int,
) -> qjs::JSValue {
    // SAFETY: as in `get_register`.
    unsafe { throw(ctx, Error::WholeAssigned) }
}
