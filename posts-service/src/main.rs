//! The program `posts-service`. All of its code is in the library, so that the program rolegate can also run the
//! service.

use rolegate_posts_service::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Replaces the default allocator, because requests allocate many small, short-lived buffers, which are often freed on
/// another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The commit for the version text is read here, so that a new commit recompiles only this crate.
    program::run::<Settings>(option_env!("GIT_COMMIT"), |_settings| {})
}
