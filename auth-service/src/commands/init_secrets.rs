//! `auth-service init-secrets`: creates the secrets of a deployment once.

mod rotation;
mod secret_folder;

use crate::{password::Password, secret_generation, settings::Settings, token::Keyring};
use rolegate_program::{program::Failure, settings::SettingError};
use rolegate_sql_store::DatabaseTarget;
use rotation::Rotation;
use secrecy::{ExposeSecret, SecretString};
use secret_folder::SecretFolder;
use std::path::PathBuf;
use url::Url;

#[derive(Debug, clap::Args)]
pub struct InitSecrets {
    /// Folder of the secrets; created with mode 0700 if it does not exist
    directory: PathBuf,

    /// Also create database-url: the URL of this PostgreSQL with the database password
    #[arg(long, value_name = "USER@HOST:PORT/DATABASE")]
    postgres: Option<String>,

    /// Folder for copies of database-password and database-url, for programs that need no other
    /// secret
    #[arg(long, value_name = "DIRECTORY")]
    database_secrets: Option<PathBuf>,

    /// Also create signing-secrets-accepted, which lists the secrets of valid tokens
    #[arg(long)]
    accepted_secrets: bool,

    /// Data directory of PostgreSQL: if it holds a database, a missing database-password is an error,
    /// because the database keeps the password of its first start
    #[arg(long, value_name = "DIRECTORY")]
    database_directory: Option<PathBuf>,

    /// Create nothing else, and execute a step of the replacement of the signing secret; send SIGHUP
    /// to every auth-service afterwards
    #[arg(long, value_name = "STEP", conflicts_with_all = ["postgres", "database_secrets", "database_directory"])]
    rotate: Option<Rotation>,

    /// With --rotate drop: end valid access tokens of the dropped secret
    #[arg(long, requires = "rotate")]
    now: bool,
}

const DATABASE_PASSWORD: &str = "database-password";

/// Creates missing secrets and checks existing ones. Prints names, never contents.
pub(super) fn run(arguments: &InitSecrets, settings: &Settings) -> Result<(), Failure> {
    // First, so that an invalid argument does not leave an incomplete set of secrets behind.
    let postgres = arguments
        .postgres
        .as_deref()
        .map(parse_postgres)
        .transpose()?;
    let folder = SecretFolder::open("DIRECTORY", &arguments.directory)?;
    if let Some(step) = arguments.rotate {
        return Ok(rotation::run(&folder, step, arguments.now)?);
    }
    let copies = arguments.database_secrets.as_deref();
    let copies = copies
        .map(|path| SecretFolder::open("--database-secrets", path))
        .transpose()?;
    // The first folder may be lost alone.
    let kept = copies
        .as_ref()
        .filter(|copies| copies.has(DATABASE_PASSWORD));
    let kept = kept
        .map(|copies| copies.read(DATABASE_PASSWORD))
        .transpose()?;
    if let Some(directory) = &arguments.database_directory
        && kept.is_none()
    {
        folder.require_password_of(directory)?;
    }
    let min_length = settings.service.password_min_length;
    let secret = |name| {
        let secret = folder.read_or_create(name, secret_generation::generate_signing_secret)?;
        Keyring::new(&secret, &[]).map_err(|error| folder.invalid(name, error))?;
        Ok::<_, SettingError>(secret)
    };
    let signing = secret("signing-secret")?;
    secret("second-factor-key")?;
    if arguments.accepted_secrets {
        rotation::create_accepted(&folder, &signing)?;
    }
    let generate = || secret_generation::generate_password(min_length);
    let admin = folder.read_or_create("admin-password", generate)?;
    Password::new(admin, min_length).map_err(|error| folder.invalid("admin-password", error))?;
    let generate = || kept.map_or_else(|| secret_generation::generate_password(0), Ok);
    let password = folder.read_or_create(DATABASE_PASSWORD, generate)?;
    if password.expose_secret().is_empty() {
        return Err(folder.invalid("database-password", "is empty").into());
    }
    let differs = "is not that of the other folder; delete it to create it again";
    if let Some(copies) = &copies {
        copies.expect("database-password", &password, differs)?;
    }
    if let Some(mut url) = postgres {
        // Cannot fail: the URL has a host.
        let _ = url.set_password(Some(password.expose_secret()));
        let url = SecretString::from(String::from(url));
        let problem = "is not of --postgres and database-password; delete it to create it again";
        folder.expect("database-url", &url, problem)?;
        if let Some(copies) = &copies {
            copies.expect("database-url", &url, differs)?;
        }
    }
    Ok(())
}

/// Parses `user@host:port/database`.
fn parse_postgres(target: &str) -> Result<Url, SettingError> {
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
