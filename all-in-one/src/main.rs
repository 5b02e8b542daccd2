//! The program `all-in-one`: what `cargo run` starts.

use std::process::ExitCode;

fn main() -> ExitCode {
    all_in_one::program(|_settings| {})
}
