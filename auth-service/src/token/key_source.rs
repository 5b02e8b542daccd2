//! Where the keys come from, and are read from again.

use super::{Keyring, keyring::LEAST_BYTES};
use secrecy::{ExposeSecret, SecretString};
use service_runtime::{secret::Source, settings::SettingError};

/// The secrets of `SIGNING_SECRET` and `SIGNING_SECRETS_ACCEPTED`, as values or files.
#[derive(Clone, Debug)]
pub struct KeySource {
    signing: Source,
    accepted: Option<Source>,
}

impl KeySource {
    /// The one that signs, and those that are accepted besides: one in each line.
    #[must_use]
    pub fn new(signing: Source, accepted: Option<Source>) -> Self {
        Self { signing, accepted }
    }

    /// Whether the keys may be others when they are read again.
    #[must_use]
    pub fn may_change(&self) -> bool {
        self.signing.is_file() || self.accepted.as_ref().is_some_and(Source::is_file)
    }

    /// Reads all of them. Everything must be good: half a ring would refuse good tokens.
    pub fn read(&self) -> Result<Keyring, SettingError> {
        let signing = self.signing.read()?;
        let accepted = match &self.accepted {
            Some(source) => lines(source)?,
            None => Vec::new(),
        };
        Keyring::new(&signing, &accepted).map_err(|error| self.signing.wrong(&error.to_string()))
    }
}

/// One secret in each line, exactly as it stands there. What could be meant otherwise is refused:
/// a wrong key would be noticed by those whose tokens it does not verify.
fn lines(source: &Source) -> Result<Vec<SecretString>, SettingError> {
    let text = source.read()?;
    let mut secrets = Vec::new();
    for (index, line) in text.expose_secret().split('\n').enumerate() {
        let number = index + 1;
        // A list in the environment is often one of commas. In a file, lines are plain to see.
        if !source.is_file() && line.contains(',') {
            return Err(source.wrong(
                "holds a comma; secrets are separated by newlines, and one with a comma goes into \
                 SIGNING_SECRETS_ACCEPTED_FILE",
            ));
        }
        if line.len() < LEAST_BYTES {
            let problem = format!(
                "line {number} has fewer than {LEAST_BYTES} bytes; there must be one secret in \
                 each line, at least the one of SIGNING_SECRET"
            );
            return Err(source.wrong(&problem));
        }
        secrets.push(SecretString::from(line));
    }
    Ok(secrets)
}

#[cfg(test)]
mod tests {
    use super::KeySource;
    use secrecy::SecretString;
    use service_runtime::secret::Source;
    use std::{fs, path::Path};

    const ONE: &str = "one secret of more than 32 bytes, with a comma";
    const TWO: &str = "two secrets of more than 32 bytes ";
    const THREE: &str = "three secrets of more than 32 bytes";

    fn given(name: &str, secret: &str) -> Source {
        Source::of(name, Some(SecretString::from(secret)), None).expect("one").expect("given")
    }

    fn accepting(accepted: Source) -> Result<Vec<String>, String> {
        let source = KeySource::new(given("SIGNING_SECRET", THREE), Some(accepted));
        let keyring = source.read().map_err(|error| error.to_string())?;
        Ok(keyring.ids().map(str::to_owned).collect())
    }

    fn value(text: &str) -> Result<Vec<String>, String> {
        accepting(given("SIGNING_SECRETS_ACCEPTED", text))
    }

    fn file(text: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("accepted");
        fs::write(&path, text).expect("written");
        accepting(Source::file("SIGNING_SECRETS_ACCEPTED_FILE", &path))
    }

    #[test]
    fn each_line_is_a_secret_and_one_given_twice_is_one_key() {
        let ids = file(&format!("{ONE}\n{TWO}\n{THREE}\n{TWO}\n")).expect("good");
        assert_eq!(ids.len(), 3, "{ids:?}");
        assert_eq!(file(&format!("{ONE}\n{TWO}")).expect("good"), ids);
        assert_eq!(value(&format!("{TWO}\n{THREE}")).expect("good"), [&*ids[0], &*ids[2]]);
        assert_ne!(value(TWO.trim_end()).expect("good")[1], ids[2], "white space counts");
    }

    #[test]
    fn a_list_that_could_be_meant_otherwise_is_refused_and_not_shown() {
        let long = "hunter2".repeat(5);
        for wrong in ["", "\n", "hunter2", &format!("{long}\n\n"), &format!("\n{long}")] {
            for outcome in [file(wrong), value(wrong)] {
                // A file may end in one newline.
                let Err(error) = outcome else { panic!("{wrong:?} was taken") };
                assert!(error.starts_with("SIGNING_SECRETS_ACCEPTED"), "{error}");
                assert!(error.contains("line "), "{error}");
                assert!(!error.contains("hunter2"), "{error}");
            }
        }
        let error = value(&format!("{long},{long}")).expect_err("a comma");
        assert!(error.starts_with("SIGNING_SECRETS_ACCEPTED: holds a comma"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn what_cannot_be_read_names_its_setting() {
        let nowhere = Source::file("SIGNING_SECRETS_ACCEPTED_FILE", Path::new("/nowhere/x"));
        let error = accepting(nowhere).expect_err("missing");
        assert_eq!(error, "SIGNING_SECRETS_ACCEPTED_FILE: /nowhere/x does not exist");
        let short = KeySource::new(given("SIGNING_SECRET", "hunter2"), None);
        let error = short.read().expect_err("short").to_string();
        assert!(error.starts_with("SIGNING_SECRET: must have at least 32 bytes"), "{error}");
    }
}
