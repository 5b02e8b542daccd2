//! The program `posts-service`.

use posts_service::settings::Settings;
use service_runtime::{
    command_line::{self, CommandLine, ServeOrHealthcheck},
    healthcheck,
    program::{self, Failure},
    shutdown::Shutdown,
};
use std::process::ExitCode;

/// Requests are many small buffers that live for microseconds, freed on another thread as often as
/// not: what this allocator is made for.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    program::run(command_line::parse(), run)
}

async fn run(
    line: CommandLine<Settings, ServeOrHealthcheck>,
    shutdown: Shutdown,
) -> Result<(), Failure> {
    match line.command {
        Some(ServeOrHealthcheck::Healthcheck) => {
            healthcheck::run(line.settings.ops_listen_addr).await
        }
        Some(ServeOrHealthcheck::Serve) | None => posts_service::run(line.settings, shutdown).await,
    }
}
