//! The program `rolegate`, which `cargo run` starts.

use rolegate::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, often freed on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Read here, so that another commit compiles nothing else again.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
