//! `auth-service init-secrets`: the secrets of a deployment, made once.

use crate::{password::Password, secret_generation, settings::Settings, token::Keyring};
use rolegate_service_runtime::{
    program::{Failure, print},
    secret,
    settings::SettingError,
};
use rolegate_sql_store::DatabaseTarget;
use secrecy::{ExposeSecret, SecretString};
use std::{
    fs::{self, DirBuilder},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Where to, and what for.
#[derive(Debug, clap::Args)]
pub(crate) struct InitSecrets {
    /// Folder of the secrets; made if it is missing, for this user alone
    directory: PathBuf,

    /// Make database-url too: the URL of this PostgreSQL, with the database password in it
    #[arg(long, value_name = "USER@HOST:PORT/DATABASE")]
    postgres: Option<String>,

    /// Folder for copies of database-password and database-url alone: for the database, and for
    /// programs that need nothing else
    #[arg(long, value_name = "DIRECTORY")]
    database_secrets: Option<PathBuf>,
}

/// Makes what is missing and checks what is there. Prints names, never contents.
pub(super) fn run(wanted: &InitSecrets, settings: &Settings) -> Result<(), Failure> {
    // Before anything is made: a mistyped target must not leave half a set of secrets behind.
    let postgres = wanted.postgres.as_deref().map(Postgres::parse).transpose()?;
    let folder = Folder::open("DIRECTORY", &wanted.directory)?;
    let copies = wanted.database_secrets.as_deref();
    let copies = copies.map(|path| Folder::open("--database-secrets", path)).transpose()?;
    let least = settings.service.password_min_length;
    let signing = folder.secret("signing-secret", secret_generation::signing_secret)?;
    Keyring::new(&signing, &[]).map_err(|error| folder.unusable("signing-secret", error))?;
    let admin = folder.secret("admin-password", || secret_generation::password(least))?;
    Password::new(admin, least).map_err(|rule| folder.unusable("admin-password", rule))?;
    let password = folder.secret("database-password", || secret_generation::password(0))?;
    if password.expose_secret().is_empty() {
        return Err(folder.unusable("database-password", "is empty").into());
    }
    let elsewhere = "is not that of the other folder; delete it to have it made again";
    if let Some(copies) = &copies {
        copies.exactly("database-password", &password, elsewhere)?;
    }
    if let Some(postgres) = postgres {
        let url = postgres.url(&password)?;
        let problem = "is not of --postgres and database-password; delete it to have it made again";
        folder.exactly("database-url", &url, problem)?;
        if let Some(copies) = &copies {
            copies.exactly("database-url", &url, elsewhere)?;
        }
    }
    Ok(())
}

/// A database and its user.
struct Postgres<'a> {
    user: &'a str,
    host: &'a str,
    database: &'a str,
}

impl<'a> Postgres<'a> {
    /// From `user@host:port/database`.
    fn parse(target: &'a str) -> Result<Self, SettingError> {
        let wrong = || SettingError::new("--postgres", "must be user@host:port/database");
        let (user, rest) = target.split_once('@').ok_or_else(wrong)?;
        let (host, database) = rest.split_once('/').ok_or_else(wrong)?;
        let is_plain = |text: &str| !text.is_empty() && !text.contains(['@', '/', '?', '#', ' ']);
        if !is_plain(user) || user.contains(':') || !is_plain(host) || !is_plain(database) {
            return Err(wrong());
        }
        let url = SecretString::from(format!("postgres://{user}@{host}/{database}"));
        DatabaseTarget::parse(&url).map_err(|_| wrong())?;
        Ok(Self { user, host, database })
    }

    /// The password is of characters that need no escape in a URL when it was made here; one that
    /// somebody put there may need some.
    fn url(&self, password: &SecretString) -> Result<SecretString, SettingError> {
        let Self { user, host, database } = self;
        let password = password.expose_secret();
        if !password.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)) {
            let problem = "goes into a URL and must be of letters, digits and -._~ only";
            return Err(SettingError::new("database-password", problem));
        }
        Ok(SecretString::from(format!("postgres://{user}:{password}@{host}/{database}")))
    }
}

/// A folder that nobody else can put files into.
struct Folder<'a>(&'a Path);

impl<'a> Folder<'a> {
    /// The folder that this argument names.
    fn open(argument: &str, path: &'a Path) -> Result<Self, SettingError> {
        let refused = |problem: String| SettingError::new(argument, problem);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| {
            refused(format!("the folder {} cannot be made: {error}", path.display()))
        })?;
        let metadata = fs::metadata(path).map_err(|error| {
            refused(format!("the folder {} cannot be looked at: {error}", path.display()))
        })?;
        let (owner, this_user) = (metadata.uid(), this_user());
        if owner != this_user {
            return Err(refused(format!(
                "{} belongs to user {owner}, who could replace what is in it; this is user \
                 {this_user}: run it as the owner, or give the folder to this user",
                path.display()
            )));
        }
        // Not mended here: a folder that others write to may be one that they are meant to.
        if metadata.mode() & 0o022 != 0 {
            return Err(refused(format!(
                "others may write to {0} and could replace what is in it; chmod go-w {0}, or \
                 choose another folder",
                path.display()
            )));
        }
        Ok(Self(path))
    }

    /// Makes the secret of this name or reads the one that is there, which nobody else may read.
    fn secret(
        &self,
        name: &str,
        make: impl FnOnce() -> io::Result<SecretString>,
    ) -> Result<SecretString, SettingError> {
        let path = self.0.join(name);
        let (secret, is_new) = secret::read_or_create(&path, make)
            .map_err(|error| self.unusable(name, format!("cannot be made or read: {error}")))?;
        let metadata = fs::symlink_metadata(&path)
            .map_err(|error| self.unusable(name, format!("cannot be looked at: {error}")))?;
        if !metadata.is_file() || metadata.uid() != this_user() {
            return Err(self.unusable(name, "is not a file of this user"));
        }
        if metadata.mode() & 0o077 != 0 {
            let problem = "others may have read it; replace it, or chmod 600 it if they have not";
            return Err(self.unusable(name, problem));
        }
        print(&format!("{} {}", path.display(), if is_new { "made" } else { "is there" }));
        Ok(secret)
    }

    /// Makes the file of this secret; one that is there must hold the same, or has this `problem`.
    fn exactly(
        &self,
        name: &str,
        secret: &SecretString,
        problem: &str,
    ) -> Result<(), SettingError> {
        let there = self.secret(name, || Ok(secret.clone()))?;
        if there.expose_secret() != secret.expose_secret() {
            return Err(self.unusable(name, problem));
        }
        Ok(())
    }

    fn unusable(&self, name: &str, problem: impl std::fmt::Display) -> SettingError {
        SettingError::new(self.0.join(name).display().to_string(), problem.to_string())
    }
}

fn this_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::Postgres;
    use secrecy::{ExposeSecret, SecretString};

    #[test]
    fn the_url_has_the_password_in_it() {
        let postgres = Postgres::parse("rolegate@postgres:5432/rolegate").expect("valid");
        let url = postgres.url(&SecretString::from("a2b")).expect("valid");
        assert_eq!(url.expose_secret(), "postgres://rolegate:a2b@postgres:5432/rolegate");
    }

    #[test]
    fn what_does_not_make_a_url_is_refused_without_the_password() {
        for target in
            ["", "postgres", "@db/x", "me@/x", "me@db/", "me:secret@db/x", "me@db:x/y", "a@b@c/d"]
        {
            let error = Postgres::parse(target).err().expect(target);
            assert_eq!(error.to_string(), "--postgres: must be user@host:port/database");
        }
        let postgres = Postgres::parse("me@db/x").expect("valid");
        let error = postgres.url(&SecretString::from("hunter2@")).expect_err("escape");
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
