//! The program `auth-service`, which serves users, passwords, tokens and roles over gRPC.
//!
//! `program::run` reads the settings, runs a command or serves, and turns the result into the exit
//! code. The service itself is in the library `rolegate_auth_service`.

use rolegate_auth_service::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, which another thread often frees. mimalloc is
/// designed for this pattern.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The commit is read here and not in the library, so that a new commit does not recompile the
    // library.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
