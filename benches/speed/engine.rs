//! How long the engine takes to be made, with its limits and its API.

use std::sync::Arc;
use std::time::Instant;

use llmdbg::script::engine::{Engine, EngineConfig};
use llmdbg::session::control::Control;

/// Call it in a process that has made no engine and no thread yet.
pub fn creation_ms() -> f64 {
    let start = Instant::now();
    let control = Arc::new(Control::new().expect("an eventfd"));
    let engine = Engine::new(EngineConfig::new(control)).expect("an engine");
    let took = start.elapsed().as_secs_f64() * 1e3;
    drop(engine);
    took
}
