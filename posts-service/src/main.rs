//! The program `posts-service`.

use rolegate_posts_service::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

/// Requests allocate many small, short-lived buffers, often freed on another thread.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    program::run::<Settings>(|_settings| {})
}
