//! The program `gateway`.

use gateway::settings::Settings;
use service_runtime::{program, settings};
use std::process::ExitCode;

fn main() -> ExitCode {
    program::run(settings::parse::<Settings>(), Settings::lame_duck, gateway::run)
}
