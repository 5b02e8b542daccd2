//! Creates the password and the URL of the database, with copies for programs that need no other
//! secret.

use super::secret_folder::{SecretFile, SecretFolder};
use crate::secret_generation;
use rolegate_program::settings::SettingError;
use rolegate_sql_store::DatabaseTarget;
use secrecy::{ExposeSecret, SecretString};
use std::{fs, io, path::Path};
use url::Url;

/// The secrets of the database.
pub(super) struct DatabaseSecrets {
    password: CopiedSecret,
    url: CopiedSecret,
}

/// A secret, and its copy for programs that need no other secret; `None` if there are no copies.
struct CopiedSecret {
    secret: SecretFile,
    copy: Option<SecretFile>,
}

impl CopiedSecret {
    /// Creates the copy, if there is one. Fails if it exists with another secret.
    fn create_copy(&self, secret: &SecretString) -> Result<(), SettingError> {
        let problem = "differs from that in the other folder; delete it to create it again";
        match &self.copy {
            Some(copy) => copy.create_or_compare(secret, problem),
            None => Ok(()),
        }
    }
}

impl DatabaseSecrets {
    /// Returns the files in the folder with all secrets, and in the folder for copies.
    pub(super) fn new(secrets: &SecretFolder<'_>, copies: Option<&SecretFolder<'_>>) -> Self {
        let file = |name| CopiedSecret {
            secret: secrets.file(name),
            copy: copies.map(|copies| copies.file(name)),
        };
        Self {
            password: file("database-password"),
            url: file("database-url"),
        }
    }

    /// Reads the copy of the password, if there is one. If the folder with the secrets is lost, the
    /// password is restored from the copy.
    pub(super) fn read_copied_password(&self) -> Result<Option<SecretString>, SettingError> {
        match &self.password.copy {
            Some(copy) if copy.exists() => Ok(Some(copy.read()?)),
            _ => Ok(None),
        }
    }

    /// Fails if `directory` holds a database but the file with its password is missing. Only the
    /// user of PostgreSQL can read that directory, so a directory without permission to read counts
    /// as a database.
    pub(super) fn require_password_of(&self, directory: &Path) -> Result<(), SettingError> {
        let has_database = match fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => true,
            Err(error) => {
                let problem = format!("{} cannot be read: {error}", directory.display());
                return Err(SettingError::new("--database-directory", problem));
            }
        };
        if has_database && !self.password.secret.exists() {
            let problem = format!(
                "does not exist, but {} holds a database, which keeps the password of its first \
                 start; restore the secrets from a backup, or create others without \
                 --database-directory and give the database the new password",
                directory.display()
            );
            return Err(self.password.secret.invalid(problem));
        }
        Ok(())
    }

    /// Reads the password and writes its copy. If there is no password, creates it from `copied`,
    /// or generates it. Fails if the password is empty or its existing copy differs.
    pub(super) fn read_or_create_password(
        &self,
        copied: Option<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let password = self.password.secret.read_or_create(|| match copied {
            Some(copied) => Ok(copied),
            None => secret_generation::generate_password(0),
        })?;
        if password.expose_secret().is_empty() {
            return Err(self.password.secret.invalid("is empty"));
        }
        self.password.create_copy(&password)?;
        Ok(password)
    }

    /// Creates the file with the URL, which includes the password, and its copy. Fails if a file
    /// exists with another URL.
    pub(super) fn create_url(
        &self,
        mut url: Url,
        password: &SecretString,
    ) -> Result<(), SettingError> {
        // This cannot fail, because `parse_postgres` requires a host.
        let _ = url.set_password(Some(password.expose_secret()));
        let url = SecretString::from(String::from(url));
        let problem =
            "does not match --postgres and database-password; delete it to create it again";
        self.url.secret.create_or_compare(&url, problem)?;
        self.url.create_copy(&url)
    }
}

/// Parses `user@host:port/database` into a URL without a password. Fails if a part is missing, or
/// if there is a password, a query or a fragment.
pub(super) fn parse_postgres(target: &str) -> Result<Url, SettingError> {
    let invalid = || SettingError::new("--postgres", "must be user@host:port/database");
    let url = Url::parse(&format!("postgres://{target}")).map_err(|_| invalid())?;
    let is_complete = !url.username().is_empty() && url.has_host() && url.path().len() > 1;
    let has_more = url.password().is_some() || url.query().is_some() || url.fragment().is_some();
    let is_supported = DatabaseTarget::parse(&SecretString::from(url.as_str())).is_ok();
    if is_complete && !has_more && is_supported {
        Ok(url)
    } else {
        Err(invalid())
    }
}

#[cfg(test)]
mod tests {
    use super::parse_postgres;

    #[test]
    fn password_is_escaped_in_the_url() {
        let mut url = parse_postgres("rolegate@postgres:5432/rolegate").expect("valid");
        for (password, expected) in [("a2b", "a2b"), ("a@/b", "a%40%2Fb")] {
            url.set_password(Some(password)).expect("has a host");
            let expected = format!("postgres://rolegate:{expected}@postgres:5432/rolegate");
            assert_eq!(url.as_str(), expected);
        }
    }

    #[test]
    fn invalid_targets_are_rejected() {
        for target in [
            "",
            "postgres",
            "@db/x",
            "me@/x",
            "me@db",
            "me@db/",
            "me:secret@db/x",
            "me@db:x/y",
            "me@db/x?sslmode=require",
            "me@db/x#y",
            "postgres://me@db/x",
        ] {
            let error = parse_postgres(target).expect_err(target);
            assert_eq!(
                error.to_string(),
                "--postgres: must be user@host:port/database"
            );
        }
    }
}
