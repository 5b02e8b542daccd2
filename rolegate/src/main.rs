//! The program `rolegate`, which `cargo run` starts.

use rolegate::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// mimalloc suits requests, which allocate many small, short-lived buffers that another thread often frees.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The commit is read here, so that a new commit recompiles only this file.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
