//! Reads a new password from a file, a pipe or the terminal, and hashes it. A password is never an
//! argument, because arguments are visible in the list of processes.

use crate::{
    call_origin::CallOrigin, commands::terminal::print_prompt, password::Hasher,
    settings::ServiceSettings,
};
use rolegate_program::{
    failure::Failure,
    secret::{self, SecretSource},
    settings::SettingError,
};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::{ExposeSecret as _, SecretString};
use std::{io, path::Path, time::Duration};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use zeroize::Zeroizing;

/// The maximum size of the input, in bytes, which is far more than a password may have.
const MAX_INPUT_BYTES: u64 = 4 * 1024;
/// The deadline for hashing the password, which is enough for the highest cost on a slow machine.
const HASH_TIMEOUT: Duration = Duration::from_mins(2);

/// Reads a new password from this file, or without a file from stdin, which may be a terminal.
/// Checks the password against the rules, and returns its hash.
pub(super) async fn hash(
    file: Option<&Path>,
    settings: &ServiceSettings,
) -> Result<SecretString, Failure> {
    let text = read(file).await?;
    let password = settings
        .password_rules()?
        .check(text)
        .map_err(|error| SettingError::new("new password", error))?;
    let hasher = Hasher::start(settings.bcrypt_cost, settings.engine(), settings.peppers()?)?;
    let origin = CallOrigin::internal(HASH_TIMEOUT);
    Ok(hasher.hash(&password, origin).await?)
}

/// Reads the new password without its line end. A terminal asks for it twice and does not show it.
async fn read(file: Option<&Path>) -> Result<SecretString, Failure> {
    if let Some(file) = file {
        return Ok(SecretSource::from_file("NEW_PASSWORD_FILE", file).read()?);
    }
    let stdin = tokio::io::stdin();
    if let Some(_echo_off) = EchoOff::enable() {
        return Ok(read_twice(BufReader::new(stdin)).await?);
    }
    Ok(read_all(stdin).await.map_err(|error| unreadable(&error))?)
}

/// Reads a password twice, because the operator does not see what is typed. Fails if the two
/// differ.
async fn read_twice(mut input: impl AsyncBufRead + Unpin) -> Result<SecretString, SettingError> {
    print_prompt("New password (not echoed): ");
    let first = read_line(&mut input).await?;
    print_prompt("The same again: ");
    let second = read_line(&mut input).await?;
    if first.expose_secret() != second.expose_secret() {
        return Err(SettingError::new(
            "new password",
            "was not typed the same twice",
        ));
    }
    Ok(first)
}

fn unreadable(error: &io::Error) -> SettingError {
    SettingError::new("new password", format!("cannot be read: {error}"))
}

/// Reads a password from a file or a pipe of at most 4 KiB, and removes the line end. Fails if the
/// password begins or ends with white space or other invisible characters.
async fn read_all(mut input: impl AsyncRead + Unpin) -> io::Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    (&mut input)
        .take(MAX_INPUT_BYTES + 1)
        .read_to_string(&mut text)
        .await?;
    if text.len() as u64 > MAX_INPUT_BYTES {
        return Err(io::Error::other("it has more than 4 KiB"));
    }
    secret::without_line_end(&text).map_err(|error| io::Error::other(format!("it {error}")))
}

/// Reads a line that the operator typed, without its line end. It keeps at most 4 KiB of the line.
async fn read_line(input: impl AsyncBufRead + Unpin) -> Result<SecretString, SettingError> {
    let mut text = Zeroizing::new(String::new());
    let read = input.take(MAX_INPUT_BYTES).read_line(&mut text).await;
    read.map_err(|error| unreadable(&error))?;
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Keeps the echo of the terminal off. Dropping the value restores the former settings.
struct EchoOff {
    before: Termios,
}

impl EchoOff {
    /// Turns off the echo; `None` if stdin is not a terminal.
    fn enable() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet).ok()?;
        Some(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_INPUT_BYTES, read_all, read_line, read_twice};
    use secrecy::ExposeSecret;

    #[tokio::test]
    async fn one_line_end_is_removed_and_ends_that_show_nothing_are_refused() {
        for piped in ["a b\n\n", " a b", "a b \n", "a b\t\r\n", "\u{feff}a b\n"] {
            let error = read_all(piped.as_bytes())
                .await
                .expect_err(piped)
                .to_string();
            assert!(
                error.starts_with("it must not begin or end with"),
                "{error}"
            );
        }
        for (piped, password) in [("a b", "a b"), ("a b\n", "a b"), ("a\nb\r\n", "a\nb")] {
            let read = read_all(piped.as_bytes()).await.expect("read");
            assert_eq!(read.expose_secret(), password);
        }
        assert_eq!(
            read_line(&b"a b\nc"[..])
                .await
                .expect("read")
                .expose_secret(),
            "a b"
        );
    }

    #[tokio::test]
    async fn a_typed_password_is_the_same_twice() {
        let typed = read_twice(&b"a b\na b\nc"[..]).await.expect("the same");
        assert_eq!(typed.expose_secret(), "a b");
        for typed in ["a\nb\n", "a\n", "a\nA\n", "a\na \n", "a\n\na\n"] {
            let error = read_twice(typed.as_bytes())
                .await
                .expect_err(typed)
                .to_string();
            assert_eq!(error, "new password: was not typed the same twice");
        }
    }

    #[tokio::test]
    async fn long_and_non_utf8_input_is_rejected() {
        let long = vec![b'x'; usize::try_from(MAX_INPUT_BYTES).expect("small") + 1];
        assert!(read_all(&long[..]).await.is_err());
        assert!(read_all(&b"\xff\xfe"[..]).await.is_err());
    }
}
