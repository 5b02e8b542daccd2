//! Where a new password comes from: a file, a pipe or the keyboard; never the list of processes.

use rolegate_service_runtime::{program::Failure, secret, settings::SettingError};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;
use std::{io, path::Path};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use zeroize::Zeroizing;

/// Far more than a password may have; a larger input is a mistake.
const LARGEST: u64 = 4 * 1024;

/// Reads the new password. One newline at its end is not part of it.
pub(super) async fn read(file: Option<&Path>) -> Result<SecretString, Failure> {
    if file.is_some() {
        let given = secret::read("NEW_PASSWORD", None, file)?;
        return given.ok_or_else(|| unreadable(&io::ErrorKind::NotFound.into()).into());
    }
    let stdin = tokio::io::stdin();
    let text = if let Some(_silence) = Silence::begin() {
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
    (&mut input).take(LARGEST + 1).read_to_string(&mut text).await?;
    if text.len() as u64 > LARGEST {
        return Err(io::Error::other("it has more than 4 KiB"));
    }
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// From a terminal, where the end is the Enter key.
async fn line(input: impl AsyncRead + Unpin) -> io::Result<SecretString> {
    let mut text = Zeroizing::new(String::new());
    BufReader::new(input.take(LARGEST)).read_line(&mut text).await?;
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// On stderr, so that stdout has the outcome only.
fn eprint_prompt() {
    use std::io::Write as _;
    let _ = write!(io::stderr(), "New password (it is not shown): ");
}

/// What is typed is not shown as long as this lives, however the program ends.
struct Silence(Termios);

impl Silence {
    /// `None` where stdin is no terminal.
    fn begin() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        silent.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent).ok()?;
        Some(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGEST, all, line};
    use secrecy::ExposeSecret;

    #[tokio::test]
    async fn one_newline_at_the_end_is_not_part_of_the_password() {
        for (piped, password) in [("a b", "a b"), ("a b\n", "a b"), ("a\nb\n\n", "a\nb\n")] {
            let read = all(piped.as_bytes()).await.expect("read");
            assert_eq!(read.expose_secret(), password);
        }
        assert_eq!(line(&b"a b\nc"[..]).await.expect("read").expose_secret(), "a b");
    }

    #[tokio::test]
    async fn what_cannot_be_meant_as_a_password_is_refused() {
        let long = vec![b'x'; usize::try_from(LARGEST).expect("small") + 1];
        assert!(all(&long[..]).await.is_err());
        assert!(all(&b"\xff\xfe"[..]).await.is_err());
    }
}
