//! Maps the error of a program to its exit code.

use crate::{logs::error_chain, settings::SettingError};
use std::{
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
};

/// The exit code of an invalid setting, which is `EX_USAGE` of `sysexits.h`.
const INVALID_SETTING: u8 = 64;
/// The exit code of [`Incomplete`].
const PARTIAL_SUCCESS: u8 = 2;

/// The error that ends a program.
///
/// A [`SettingError`] exits with 64 unless it is transient, [`Incomplete`] exits with 2, and any other error with 1.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The error of a command that has done only part of its work. The text says which part is missing.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Incomplete(pub String);

/// Prints the error and its sources in one line on stderr, and returns the exit code.
#[must_use]
pub fn exit(failure: &Failure) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", error_chain(&**failure));
    if let Some(setting) = failure.downcast_ref::<SettingError>()
        && !setting.is_transient()
    {
        return ExitCode::from(INVALID_SETTING);
    }
    if failure.is::<Incomplete>() {
        return ExitCode::from(PARTIAL_SUCCESS);
    }
    ExitCode::FAILURE
}
