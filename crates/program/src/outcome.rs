//! What a program prints, and how it ends.

use crate::settings::SettingError;
use rolegate_telemetry::logs::error_chain;
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

/// Why a program failed. A [`SettingError`] exits with 64, [`Incomplete`] with 2, any other error with 1.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Only a part of what was asked for is done.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Incomplete(pub String);

/// Prints the error and its sources in one line on stderr.
pub(crate) fn exit(failure: &Failure) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", error_chain(&**failure));
    if failure.is::<SettingError>() {
        // `EX_USAGE` of sysexits.h.
        ExitCode::from(64)
    } else if failure.is::<Incomplete>() {
        ExitCode::from(2)
    } else {
        ExitCode::FAILURE
    }
}

/// Prints text for the user on stdout. A closed stdout is not an error.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.write_all(if text.ends_with('\n') { b"" } else { b"\n" });
    let _ = stdout.flush();
}
