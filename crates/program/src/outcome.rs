//! What a program prints, and how it ends.

use crate::settings::SettingError;
use rolegate_telemetry::logs::error_chain;
use std::{
    error::Error,
    io::{self, Write},
    process::ExitCode,
};

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
        let (code, text) = match self {
            // `EX_USAGE` of sysexits.h.
            Self::Setting(error) => (64, error.to_string()),
            Self::Other(error) => (1, error_chain(&**error)),
            Self::Incomplete(text) => (2, text.clone()),
        };
        let _ = writeln!(io::stderr(), "{text}");
        ExitCode::from(code)
    }
}

/// Prints text for the user on stdout. A closed stdout is not an error.
pub fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.write_all(if text.ends_with('\n') { b"" } else { b"\n" });
    let _ = stdout.flush();
}
