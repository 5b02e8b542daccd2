//! The program `auth-service`.

use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, often freed on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    rolegate_auth_service::run(|_settings| {})
}
