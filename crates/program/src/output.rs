//! What a command prints on stdout for its user.

use crate::failure::Failure;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    io::{self, Write as _},
    sync::OnceLock,
};

/// Why text of a command could not be printed, if that happened.
static WRITE_ERROR: OnceLock<io::Error> = OnceLock::new();

/// Prints text for the user on stdout. A command whose text could not be written fails in the end. A reader that has
/// seen enough, such as `head`, is no failure.
pub fn print(text: &str) {
    if let Err(error) = write(text)
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        WRITE_ERROR.get_or_init(|| error);
    }
}

/// Prints a secret that nobody can see again. `made` begins the error if it could not be written, and `remedy` ends it.
pub fn print_secret(secret: &SecretString, made: &str, remedy: &str) -> Result<(), Failure> {
    write(secret.expose_secret())
        .map_err(|error| format!("{made}, but could not be shown: {error}; {remedy}").into())
}

/// Fails if something could not be printed.
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
