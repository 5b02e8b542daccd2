//! The program `gateway`.

use rolegate_service_runtime::command_line;
use std::process::ExitCode;

/// Requests are many small buffers that live for microseconds, freed on another thread as often as
/// not: what this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    command_line::serve_or_healthcheck(command_line::parse(), rolegate_gateway::serve)
}
