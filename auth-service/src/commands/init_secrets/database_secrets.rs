//! Creates the password and the URL of the database, with copies for programs that need no other
//! secret.

use super::secret_folder::SecretFolder;
use crate::secret_generation;
use rolegate_program::settings::SettingError;
use rolegate_sql_store::DatabaseTarget;
use secrecy::{ExposeSecret, SecretString};
use std::{fs, io, path::Path};
use url::Url;

const PASSWORD: &str = "database-password";
const URL: &str = "database-url";

/// The folder with all secrets, and the folder for copies of the database's secrets; `None` if
/// there are no copies.
pub(super) struct DatabaseFolders<'a> {
    pub(super) secrets: &'a SecretFolder<'a>,
    pub(super) copies: Option<&'a SecretFolder<'a>>,
}

impl DatabaseFolders<'_> {
    /// Reads the copy of the password, if there is one. If the folder with the secrets is lost, the
    /// password is restored from the copy.
    pub(super) fn read_copied_password(&self) -> Result<Option<SecretString>, SettingError> {
        match self.copies {
            Some(copies) if copies.contains(PASSWORD) => Ok(Some(copies.read(PASSWORD)?)),
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
        if has_database && !self.secrets.contains(PASSWORD) {
            let problem = format!(
                "does not exist, but {} holds a database, which keeps the password of its first \
                 start; restore the secrets from a backup, or create others without \
                 --database-directory and give the database the new password",
                directory.display()
            );
            return Err(self.secrets.invalid(PASSWORD, problem));
        }
        Ok(())
    }

    /// Reads the password and writes its copy. If there is no password, creates it from `copied`,
    /// or generates it. Fails if the password is empty or its existing copy differs.
    pub(super) fn read_or_create_password(
        &self,
        copied: Option<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let password = self.secrets.read_or_create(PASSWORD, || match copied {
            Some(copied) => Ok(copied),
            None => secret_generation::generate_password(0),
        })?;
        if password.expose_secret().is_empty() {
            return Err(self.secrets.invalid(PASSWORD, "is empty"));
        }
        self.copy(PASSWORD, &password)?;
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
        self.secrets.create_or_compare(URL, &url, problem)?;
        self.copy(URL, &url)
    }

    fn copy(&self, name: &str, secret: &SecretString) -> Result<(), SettingError> {
        let problem = "differs from that in the other folder; delete it to create it again";
        match self.copies {
            Some(copies) => copies.create_or_compare(name, secret, problem),
            None => Ok(()),
        }
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
