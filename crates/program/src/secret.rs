//! Secrets from the environment (`NAME`) or from a file (`NAME_FILE`).

use crate::settings::SettingError;
use rolegate_grpc_tls::explain;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::NamedTempFile;
use zeroize::Zeroizing;

/// Far more than a list of secrets.
const MAX_FILE_KIB: u64 = 64;

/// Parses a secret, as a `value_parser` of clap. Infallible, so that clap never quotes the value.
pub fn parse(text: &str) -> Result<SecretString, std::convert::Infallible> {
    Ok(SecretString::from(text))
}

/// A secret that can be reloaded.
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
    /// The secret `name`, from its value or from the file in `name_FILE`. Both is an error.
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

    /// The secret in this file; errors name the setting `variable`.
    pub fn from_file(variable: &str, path: &Path) -> Self {
        Self {
            variable: variable.to_owned(),
            location: SecretLocation::File(path.to_owned()),
        }
    }

    /// Whether a reload may yield another secret.
    pub fn is_file(&self) -> bool {
        matches!(self.location, SecretLocation::File(_))
    }

    /// The setting and its file, for log lines about a reload.
    pub fn describe(&self) -> String {
        match &self.location {
            SecretLocation::Value(_) => {
                format!(
                    "{} (of the environment, which cannot change)",
                    self.variable
                )
            }
            SecretLocation::File(path) => format!("{}={}", self.variable, path.display()),
        }
    }

    /// Reads the secret, without one trailing newline of a file.
    pub fn read(&self) -> Result<SecretString, SettingError> {
        match &self.location {
            SecretLocation::Value(value) => Ok(value.clone()),
            SecretLocation::File(path) => read_file(path).map_err(|error| {
                let problem = format!("{} {}", path.display(), explain(&error));
                SettingError::new(self.variable.as_str(), problem)
            }),
        }
    }

    /// The error for an invalid secret: `problem` continues "the secret …".
    pub fn invalid(&self, problem: &str) -> SettingError {
        match &self.location {
            SecretLocation::Value(_) => SettingError::new(self.variable.as_str(), problem),
            SecretLocation::File(path) => SettingError::new(
                self.variable.as_str(),
                format!("{}: {problem}", path.display()),
            ),
        }
    }
}

/// Reads the secret `name` once, as [`SecretSource`] does.
pub fn read(
    name: &str,
    value: Option<SecretString>,
    file: Option<&Path>,
) -> Result<Option<SecretString>, SettingError> {
    SecretSource::from_setting(name, value, file)?
        .map(|source| source.read())
        .transpose()
}

/// Reads a secret file, without one trailing newline.
pub fn read_file(path: &Path) -> io::Result<SecretString> {
    let text = String::from_utf8(rolegate_grpc_tls::read_file(path, MAX_FILE_KIB)?);
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not valid UTF-8");
    let text = Zeroizing::new(text.map_err(invalid)?);
    Ok(SecretString::from(text.strip_suffix('\n').unwrap_or(&text)))
}

/// Reads the secret in this file, or creates the file (mode 0600) with a secret from `make`. Returns the
/// secret and whether it is new. Of two programs that start at once, one creates and the other reads.
pub fn read_or_create(
    path: &Path,
    make: impl FnOnce() -> io::Result<SecretString>,
) -> io::Result<(SecretString, bool)> {
    if path.try_exists()? {
        return Ok((read_file(path)?, false));
    }
    let secret = make()?;
    // Atomic, and never replaces an existing file.
    match write_beside(path, &secret)?.persist_noclobber(path) {
        Ok(_) => Ok((secret, true)),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Ok((read_file(path)?, false))
        }
        Err(error) => Err(error.error),
    }
}

/// Creates the file (mode 0600) with this secret, or replaces it in one step: no reader finds half of it.
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
    use secrecy::{ExposeSecret, SecretString};
    use std::{io::Write, path::Path};

    fn file(content: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(content).expect("it can be written");
        file
    }

    #[test]
    fn one_trailing_newline_of_a_file_is_stripped() {
        for (content, secret) in [
            ("s3cret\n", "s3cret"),
            ("s3cret\n\n", "s3cret\n"),
            (" s ", " s "),
        ] {
            let file = file(content.as_bytes());
            let read = read("SAMPLE", None, Some(file.path()))
                .expect("readable")
                .expect("set");
            assert_eq!(read.expose_secret(), secret);
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
