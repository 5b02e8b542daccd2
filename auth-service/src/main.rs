//! The program `auth-service`.

use std::process::ExitCode;

/// Requests are many small buffers that live for microseconds, freed on another thread as often as
/// not: what this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rolegate_auth_service::program(|_settings| {})
}
