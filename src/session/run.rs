//! Runs: steps and continues as loops over the tracee layer.

/// A run under way. Dropping it ends nothing: the session knows where the debuggee stands.
#[derive(Debug)]
pub struct Run {
    _private: (),
}
