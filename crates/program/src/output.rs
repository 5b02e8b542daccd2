//! Prints the output of commands on stdout, and records whether printing has failed.

use crate::failure::Failure;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    io::{self, Write as _},
    sync::OnceLock,
};

/// The first error of printing, which makes the command fail at its end.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Prints text for the user on stdout.
///
/// If the text cannot be written, the command fails at its end. A reader that closes the pipe because it has seen
/// enough, such as `head`, is no failure.
pub fn print(text: &str) {
    if let Err(error) = write(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        WRITE_ERROR.get_or_init(|| error);
    }
}

/// Prints a secret that cannot be shown a second time.
///
/// If the secret cannot be written, the error begins with `made`, which says what was created, and ends with `remedy`,
/// which says what to do.
pub fn print_secret(secret: &SecretString, made: &str, remedy: &str) -> Result<(), Failure> {
    write(secret.expose_secret())
        .map_err(|error| format!("{made}, but could not be shown: {error}; {remedy}").into())
}

/// Returns the first error of printing, so that the command fails at its end.
pub(crate) fn check_printed() -> Result<(), Failure> {
    match WRITE_ERROR.get() {
        Some(error) => Err(format!("the output could not be written: {error}").into()),
        None => Ok(()),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}
