//! Reads a new password from a file, a pipe or the terminal. Never an argument: those show in the
//! list of processes.

use rolegate_service_runtime::{program::Failure, secret, settings::SettingError};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;
use std::{io, path::Path};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use zeroize::Zeroizing;

/// Far more than a password may have.
const MAX_INPUT_BYTES: u64 = 4 * 1024;

/// Reads the new password without its final newline.
pub(super) async fn read(file: Option<&Path>) -> Result<SecretString, Failure> {
    if file.is_some() {
        let given = secret::read("NEW_PASSWORD", None, file)?;
        return given.ok_or_else(|| unreadable(&io::ErrorKind::NotFound.into()).into());
    }
    let stdin = tokio::io::stdin();
    let text = if let Some(_echo_off) = EchoOff::enable() {
        eprint_prompt();
        line(stdin).await
    } else {
        all(stdin).await
    };
    Ok(text.map_err(|error| unreadable(&error))?)
}

fn unreadable(error: &io::Error) -> SettingError {
    SettingError::new("new password", format!("cannot be read: {error}"))
}

async fn all(mut input: impl AsyncRead + Unpin) -> io::Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    (&mut input).take(MAX_INPUT_BYTES + 1).read_to_string(&mut text).await?;
    if text.len() as u64 > MAX_INPUT_BYTES {
        return Err(io::Error::other("it has more than 4 KiB"));
    }
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Reads up to the Enter key of a terminal.
async fn line(input: impl AsyncRead + Unpin) -> io::Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    BufReader::new(input.take(MAX_INPUT_BYTES)).read_line(&mut text).await?;
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// On stderr: stdout is for the outcome.
fn eprint_prompt() {
    use std::io::Write as _;
    let _ = write!(io::stderr(), "New password (not echoed): ");
}

/// Turns the echo of the terminal off until it is dropped.
struct EchoOff(Termios);

impl EchoOff {
    /// `None` if stdin is not a terminal.
    fn enable() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        quiet.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet).ok()?;
        Some(Self(before))
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_INPUT_BYTES, all, line};
    use secrecy::ExposeSecret;

    #[tokio::test]
    async fn one_final_newline_is_stripped() {
        for (piped, password) in [("a b", "a b"), ("a b\n", "a b"), ("a\nb\n\n", "a\nb\n")] {
            let read = all(piped.as_bytes()).await.expect("read");
            assert_eq!(read.expose_secret(), password);
        }
        assert_eq!(line(&b"a b\nc"[..]).await.expect("read").expose_secret(), "a b");
    }

    #[tokio::test]
    async fn long_and_non_utf8_input_is_rejected() {
        let long = vec![b'x'; usize::try_from(MAX_INPUT_BYTES).expect("small") + 1];
        assert!(all(&long[..]).await.is_err());
        assert!(all(&b"\xff\xfe"[..]).await.is_err());
    }
}
