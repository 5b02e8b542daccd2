//! The program `gateway`.

use rolegate_gateway::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers that other threads free, which mimalloc handles
/// well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Read here, so that another commit compiles nothing else again.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
