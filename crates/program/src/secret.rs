//! Reads secrets from a variable (`NAME`) or from a file (`NAME_FILE`), and generates secrets into files.

use crate::settings::SettingError;
use rolegate_grpc_tls::explain_read_error;
use rolegate_proto::shows_nothing;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fmt::Display,
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// The maximum size of a file with a secret, in KiB. It is far more than a list of secrets needs.
const MAX_FILE_KIB: u64 = 64;

/// The variable or the file from which a secret is read. A secret in a file can be read again when the file has been
/// replaced.
#[derive(Clone, Debug)]
pub struct SecretSource {
    variable: String,
    location: SecretLocation,
}

#[derive(Clone, Debug)]
enum SecretLocation {
    Value(SecretString),
    File(PathBuf),
}

impl SecretSource {
    /// Returns the source of the secret `name`: its value, or the file in `name_FILE`. Returns `None` if neither is
    /// set, and fails if both are.
    pub fn from_setting(
        name: &str,
        value: Option<SecretString>,
        file: Option<&Path>,
    ) -> Result<Option<Self>, SettingError> {
        match (value, file) {
            (Some(_), Some(_)) => Err(SettingError::new(
                name,
                format!("is set, and so is {name}_FILE; set one of the two"),
            )),
            (Some(value), None) => Ok(Some(Self {
                variable: name.to_owned(),
                location: SecretLocation::Value(value),
            })),
            (None, Some(path)) => Ok(Some(Self::from_file(&format!("{name}_FILE"), path))),
            (None, None) => Ok(None),
        }
    }

    /// Returns the source of the secret in this file. Errors name the setting `variable`.
    pub fn from_file(variable: &str, path: &Path) -> Self {
        Self {
            variable: variable.to_owned(),
            location: SecretLocation::File(path.to_owned()),
        }
    }

    /// Returns `true` if the secret is in a file, so that a reload may read another one.
    pub fn is_file(&self) -> bool {
        matches!(self.location, SecretLocation::File(_))
    }

    /// Returns the setting and its file, for log lines about a reload.
    pub fn describe(&self) -> String {
        match &self.location {
            SecretLocation::Value(_) => {
                format!(
                    "{} (from the environment, which cannot change)",
                    self.variable
                )
            }
            SecretLocation::File(path) => format!("{}={}", self.variable, path.display()),
        }
    }

    /// Returns the secret, without the line end of a file. Refuses invisible characters at its ends
    /// ([`SecretEndError`]). Fails if the file cannot be read, is larger than 64 KiB, or is not UTF-8.
    pub fn read(&self) -> Result<SecretString, SettingError> {
        let secret = match &self.location {
            SecretLocation::Value(value) => {
                check_ends(value.expose_secret()).map(|()| value.clone())
            }
            SecretLocation::File(path) => {
                let text = read_text(path).map_err(|error| {
                    let problem = format!("{} {}", path.display(), explain_read_error(&error));
                    SettingError::new(self.variable.as_str(), problem)
                        .transient_if_retryable(&error)
                })?;
                without_line_end(&text)
            }
        };
        secret.map_err(|error| self.invalid(error))
    }

    /// Returns the error for an invalid secret. `problem` continues the sentence "the secret …".
    pub fn invalid(&self, problem: impl Display) -> SettingError {
        let problem = match &self.location {
            SecretLocation::Value(_) => problem.to_string(),
            SecretLocation::File(path) => format!("{}: {problem}", path.display()),
        };
        SettingError::new(self.variable.as_str(), problem)
    }
}

/// Returns the secret `name`, read once from the same sources as [`SecretSource`].
pub fn read(
    name: &str,
    value: Option<SecretString>,
    file: Option<&Path>,
) -> Result<Option<SecretString>, SettingError> {
    SecretSource::from_setting(name, value, file)?
        .map(|source| source.read())
        .transpose()
}

/// Returns the secret in a file of at most 64 KiB, without the line end, for callers whose errors name no setting.
/// Refuses the same files as [`SecretSource::read`].
pub fn read_file(path: &Path) -> io::Result<SecretString> {
    let text = read_text(path)?;
    without_line_end(&text).map_err(|error| io::Error::other(format!("it {error}")))
}

fn read_text(path: &Path) -> io::Result<Zeroizing<String>> {
    let text = String::from_utf8(rolegate_grpc_tls::read_file(path, MAX_FILE_KIB)?);
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8");
    text.map(Zeroizing::new).map_err(invalid)
}

/// The error if a secret begins or ends with a character that shows nothing.
///
/// An editor or a program for another system has probably added it, and no user could type it.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "must not begin or end with white space, a byte order mark or another character that shows nothing"
)]
pub struct SecretEndError;

/// Returns the secret in the content of a file or a pipe, without its line end, which may be that of any operating
/// system.
pub fn without_line_end(content: &str) -> Result<SecretString, SecretEndError> {
    let line = content.strip_suffix('\n').unwrap_or(content);
    let line = line.strip_suffix('\r').unwrap_or(line);
    check_ends(line)?;
    Ok(SecretString::from(line))
}

fn check_ends(secret: &str) -> Result<(), SecretEndError> {
    const EMOJI_STYLE: char = '\u{fe0f}';
    let mut rest = secret.chars();
    let first = rest.clone().next();
    let mut last = rest.next_back();
    if last == Some(EMOJI_STYLE) {
        // This character is visible in the emoji before it, so the emoji is checked instead.
        last = rest.next_back();
    }
    if first.into_iter().chain(last).any(shows_nothing) {
        return Err(SecretEndError);
    }
    Ok(())
}

/// The secret in a file that is generated if it is missing.
#[derive(Debug)]
pub struct GeneratedSecret {
    /// The secret that the file contains.
    pub secret: SecretString,
    /// True if this call has created the file.
    pub is_new: bool,
}

/// Returns the secret in this file, or creates the file with mode 0600 and a secret from `generate`.
///
/// If two programs start at once, one creates the file and the other reads it.
pub fn read_or_create(
    path: &Path,
    generate: impl FnOnce() -> io::Result<SecretString>,
) -> io::Result<GeneratedSecret> {
    if !path.try_exists()? {
        let secret = generate()?;
        // Persisting is atomic, and never replaces a file that another program has just created.
        match write_beside(path, &secret)?.persist_noclobber(path) {
            Ok(_) => {
                return Ok(GeneratedSecret {
                    secret,
                    is_new: true,
                });
            }
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.error),
        }
    }
    Ok(GeneratedSecret {
        secret: read_file(path)?,
        is_new: false,
    })
}

/// Creates the file with mode 0600 and this secret, or replaces it in one step, so that no reader finds half a secret.
pub fn replace(path: &Path, secret: &SecretString) -> io::Result<()> {
    write_beside(path, secret)?.persist(path)?;
    Ok(())
}

fn write_beside(path: &Path, secret: &SecretString) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.as_file()
        .set_permissions(fs::Permissions::from_mode(0o600))?;
    writeln!(file, "{}", secret.expose_secret())?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::settings::SettingError;
    use secrecy::{ExposeSecret, SecretString};
    use std::{io::Write, path::Path};

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(content).expect("it can be written");
        file
    }

    fn read_one(value: Option<&str>, path: Option<&Path>) -> Result<String, SettingError> {
        let secret = read("SAMPLE", value.map(SecretString::from), path)?;
        Ok(secret.expect("set").expose_secret().to_owned())
    }

    #[test]
    fn one_line_end_of_any_system_of_a_file_is_removed() {
        for end in ["", "\n", "\r\n", "\r"] {
            for secret in ["s3cret", "two words", "p❤\u{fe0f}", "", "e\u{301}"] {
                let file = file(format!("{secret}{end}").as_bytes());
                assert_eq!(read_one(None, Some(file.path())).expect("valid"), secret);
            }
        }
    }

    #[test]
    fn ends_that_show_nothing_are_refused_by_the_name_of_the_setting_and_never_printed() {
        for hidden in [
            " ", "\t", "\n", "\r", "\r\n", "\u{feff}", "\u{a0}", "\u{3000}", "\u{200b}",
            "\u{200e}", "\u{2028}", "\u{85}", "\0", "\u{3164}", "\u{2800}", "\u{ad}",
        ] {
            for secret in [format!("{hidden}hunter2"), format!("hunter2{hidden}")] {
                let file = file(format!("{secret}\r\n").as_bytes());
                let in_file = read_one(None, Some(file.path())).expect_err(&secret);
                let in_environment = read_one(Some(&secret), None).expect_err(&secret);
                for (error, name) in [(in_file, "SAMPLE_FILE: "), (in_environment, "SAMPLE: ")] {
                    let error = error.to_string();
                    assert!(error.starts_with(name), "{error}");
                    assert!(error.contains("must not begin or end with"), "{error}");
                    assert!(!error.contains("hunter2"), "{error}");
                }
            }
        }
    }

    #[test]
    fn a_secret_set_twice_is_rejected_without_showing_it() {
        let file = file(b"one");
        let error = read(
            "SAMPLE",
            Some(SecretString::from("hunter2")),
            Some(file.path()),
        )
        .expect_err("both are set");
        assert_eq!(
            error.to_string(),
            "SAMPLE: is set, and so is SAMPLE_FILE; set one of the two"
        );
    }

    #[test]
    fn an_unreadable_file_is_named_with_its_variable() {
        let missing = read("SAMPLE", None, Some(Path::new("/nowhere/x"))).expect_err("missing");
        assert_eq!(
            missing.to_string(),
            "SAMPLE_FILE: /nowhere/x does not exist"
        );
        let folder = read("SAMPLE", None, Some(Path::new("/"))).expect_err("a folder");
        assert!(folder.to_string().contains("is not a file"), "{folder}");
        let binary = file(&[0xff, 0xfe]);
        let error = read("SAMPLE", None, Some(binary.path())).expect_err("not UTF-8");
        assert!(error.to_string().ends_with("is not valid UTF-8"), "{error}");
    }
}
