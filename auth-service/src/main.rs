//! The program `auth-service`.

use std::process::ExitCode;

fn main() -> ExitCode {
    auth_service::program(|_settings| {})
}
