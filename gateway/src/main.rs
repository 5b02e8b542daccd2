//! Starts the program `gateway`, whose work is in the module `commands` of the library.

use rolegate_gateway::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, which other threads free. mimalloc handles this well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The commit is read here and not in a library, so that a new commit recompiles nothing else.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
