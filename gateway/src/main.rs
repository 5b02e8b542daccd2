//! The program `gateway`.

use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers that other threads free, which mimalloc handles
/// well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rolegate_gateway::run()
}
