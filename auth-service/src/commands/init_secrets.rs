//! `auth-service init-secrets`: creates the secrets of a deployment that do not exist yet, or
//! rotates the signing secret.
//!
//! Each secret is a file in the folder that the operator names. `secret_folder` reads and creates
//! such files, `database_secrets` handles the password and the URL of the database, and `rotation`
//! replaces the signing secret in steps.

mod database_secrets;
mod rotation;
mod secret_folder;

use crate::{
    password::Password, second_factor::SecondFactorKeys, secret_generation, settings::Settings,
    tokens::Keyring,
};
use database_secrets::DatabaseSecrets;
use rolegate_program::{failure::Failure, settings::SettingError};
use rotation::Rotation;
use secrecy::SecretString;
use secret_folder::{SecretFile, SecretFolder};
use std::path::PathBuf;

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

    /// Execute this step of replacing the signing secret, and create no other secret; send SIGHUP to
    /// every auth-service afterwards
    #[arg(long, value_name = "STEP", conflicts_with_all = ["postgres", "database_secrets", "database_directory"])]
    rotate: Option<Rotation>,

    /// With --rotate drop: end those access tokens of the dropped secret that are still valid
    #[arg(long, requires = "rotate")]
    now: bool,
}

/// Creates missing secrets and checks existing ones, or with `--rotate` executes only that step. It
/// prints the names of files, never their contents.
pub(super) fn run(arguments: &InitSecrets, settings: &Settings) -> Result<(), Failure> {
    // The URL is parsed first, so that an invalid argument does not leave an incomplete set of
    // secrets behind.
    let database_url = arguments
        .postgres
        .as_deref()
        .map(database_secrets::parse_postgres)
        .transpose()?;
    let folder = SecretFolder::open("DIRECTORY", &arguments.directory)?;
    if let Some(rotation) = arguments.rotate {
        return Ok(rotation::run(&folder, rotation, arguments.now)?);
    }
    let copies = arguments
        .database_secrets
        .as_deref()
        .map(|path| SecretFolder::open("--database-secrets", path))
        .transpose()?;
    let database = DatabaseSecrets::new(&folder, copies.as_ref());
    let copied_password = database.read_copied_password()?;
    if let Some(directory) = &arguments.database_directory
        && copied_password.is_none()
    {
        database.require_password_of(directory)?;
    }
    let signing = read_or_create_signing_secret(&folder.file("signing-secret"))?;
    create_second_factor_key(&folder.file("second-factor-key"))?;
    if arguments.accepted_secrets {
        rotation::create_accepted(&folder, &signing)?;
    }
    create_admin_password(
        &folder.file("admin-password"),
        settings.service.password_min_length,
    )?;
    let password = database.read_or_create_password(copied_password)?;
    if let Some(url) = database_url {
        database.create_url(url, &password)?;
    }
    Ok(())
}

fn read_or_create_signing_secret(file: &SecretFile) -> Result<SecretString, SettingError> {
    let secret = file.read_or_create(secret_generation::generate_signing_secret)?;
    Keyring::new(&secret, &[]).map_err(|error| file.invalid(error))?;
    Ok(secret)
}

fn create_second_factor_key(file: &SecretFile) -> Result<(), SettingError> {
    let key = file.read_or_create(secret_generation::generate_signing_secret)?;
    SecondFactorKeys::new(&[key]).map_err(|problem| file.invalid(problem))?;
    Ok(())
}

fn create_admin_password(file: &SecretFile, min_length: usize) -> Result<(), SettingError> {
    let password = file.read_or_create(|| secret_generation::generate_password(min_length))?;
    Password::new(password, min_length).map_err(|error| file.invalid(error))?;
    Ok(())
}
