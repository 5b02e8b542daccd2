//! The program `gateway`.

use rolegate_service_runtime::command_line;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers that other threads free, which mimalloc handles
/// well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command_line::serve_or_healthcheck(command_line::parse(), rolegate_gateway::serve)
}
