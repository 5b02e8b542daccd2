//! Gateway, auth-service and posts-service in one process, by default on embedded databases.
//!
//! - [`run`]: the program. `serve`: opens, connects and serves its three parts.
//! - [`settings`]: flags and environment.
//! - `data_dir`: the folder of generated secrets and embedded databases.
//! - `databases`: the databases of users and posts.
//! - `in_memory`: connections between the parts, with the same gRPC clients and no socket.
//! - `banner`: the text printed at the start.

mod banner;
mod data_dir;
mod databases;
mod in_memory;
mod serve;
pub mod settings;

use rolegate_service_runtime::command_line::{self, CommandLine};
use settings::Settings;
use std::process::ExitCode;

/// Runs rolegate with the arguments and the environment of this process, after `adjust` has changed
/// its settings.
pub fn run(adjust: impl FnOnce(&mut Settings)) -> ExitCode {
    let line = command_line::parse().map(|mut line: CommandLine<Settings, _>| {
        adjust(&mut line.settings);
        line
    });
    command_line::serve_or_healthcheck(line, |settings, shutdown| {
        Box::pin(serve::serve(settings, shutdown))
    })
}
