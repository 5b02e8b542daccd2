//! What a program prints, and how it ends.

use crate::settings::SettingError;
use rolegate_telemetry::logs::error_chain;
use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

/// `EX_USAGE` of sysexits.h.
const EXIT_USAGE: u8 = 64;
const EXIT_INCOMPLETE: u8 = 2;

/// Why a program failed.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum Failure {
    /// A setting is invalid: exit 64.
    Setting(#[from] SettingError),
    /// Anything else: exit 1.
    Other(#[from] Box<dyn Error + Send + Sync>),
    /// A part of what was asked for is done: exit 2.
    #[error("{0}")]
    Incomplete(String),
}

impl Failure {
    /// Prints the error and its sources in one line on stderr.
    pub(crate) fn exit(&self) -> ExitCode {
        match self {
            Self::Setting(error) => exit_usage(error),
            Self::Other(error) => exit_failure(&**error),
            Self::Incomplete(_) => {
                exit_failure(self);
                ExitCode::from(EXIT_INCOMPLETE)
            }
        }
    }
}

pub(crate) fn exit_usage(error: &dyn Display) -> ExitCode {
    let _ = writeln!(io::stderr(), "{error}");
    ExitCode::from(EXIT_USAGE)
}

pub(crate) fn exit_failure(error: &dyn Error) -> ExitCode {
    let _ = writeln!(io::stderr(), "{}", error_chain(error));
    ExitCode::FAILURE
}

/// Prints text for the user on stdout. A closed stdout is not an error.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.write_all(if text.ends_with('\n') { b"" } else { b"\n" });
    let _ = stdout.flush();
}
