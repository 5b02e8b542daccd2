//! Why a program ends with another exit code than 0.

use crate::settings::SettingError;
use rolegate_telemetry::logs::error_chain;
use std::{
    error::Error,
    io::{self, Write as _},
    process::ExitCode,
};

/// `EX_USAGE` of sysexits.h.
const INVALID_SETTING: u8 = 64;
const PARTIAL_SUCCESS: u8 = 2;

/// Why a program failed. A [`SettingError`] exits with 64, unless it is transient; [`Incomplete`] with 2; any other
/// error with 1.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The error of a command that has done only a part of its work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Incomplete(pub String);

/// Prints the error and its sources in one line on stderr.
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
