//! The program `posts-service`. Everything that it does is in the library, so that rolegate can run the service too.

use rolegate_posts_service::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, often freed on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The commit is read here, so that a new commit recompiles only this crate.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
