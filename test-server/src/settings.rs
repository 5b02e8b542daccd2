//! The flags of the test server. It reads no variables of the environment, which may belong to a deployment of
//! Rolegate.

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use rolegate_auth_service::{secret_generation, settings::ServiceSettings};
use rolegate_gateway::settings::PublicSettings;
use rolegate_program::{failure::Failure, logs::LogFilter, settings::SettingError};
use secrecy::SecretString;
use serde::Deserialize;
use std::{fmt::Display, fs, path::PathBuf};

/// Rolegate for tests: in memory, on free ports of loopback, with cheap password hashes
#[derive(Debug, Parser)]
#[command(name = "rolegate-test-server", version)]
pub(crate) struct Settings {
    /// Create a user, given as NAME:PASSWORD or NAME:PASSWORD:ROLE; may be repeated
    #[arg(long = "user", value_name = "NAME:PASSWORD:ROLE", value_parser = user)]
    flags: Vec<NewUser>,
    /// Create the users in a file with one on each line, such as {"username": "ada", "password": "a password", "role": "author"}
    #[arg(long = "users", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Log to stderr at this level, such as debug
    #[arg(long, value_name = "LEVEL")]
    pub(crate) log: Option<LogFilter>,
    #[command(flatten)]
    pub(crate) public: PublicSettings,
    #[command(flatten)]
    pub(crate) service: ServiceSettings,
}

/// A user to create. auth-service checks its name, password and role.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewUser {
    pub(crate) username: String,
    pub(crate) password: SecretString,
    pub(crate) role: Option<String>,
}

fn user(text: &str) -> Result<NewUser, &'static str> {
    let (username, rest) = text.split_once(':').ok_or(
        "must be NAME:PASSWORD or NAME:PASSWORD:ROLE; with a role, the password may have colons",
    )?;
    let (password, role) = match rest.rsplit_once(':') {
        Some((password, role)) => (password, Some(role.to_owned())),
        None => (rest, None),
    };
    Ok(NewUser {
        username: username.to_owned(),
        password: password.into(),
        role,
    })
}

impl Settings {
    /// Parses the flags of this process. If they request the help or the version, prints it and ends the process.
    pub(crate) fn from_flags() -> Result<Self, Failure> {
        let mut command = Self::command().mut_args(|flag| flag.env(None));
        for address in [
            "bearer_listen_addr",
            "basic_listen_addr",
            "forward_auth_listen_addr",
        ] {
            command = command.mut_arg(address, |flag| flag.default_value("127.0.0.1:0"));
        }
        let parsed = command
            .try_get_matches()
            .and_then(|flags| Self::from_arg_matches(&flags));
        let mut settings = match parsed {
            Ok(settings) => settings,
            Err(error) if error.use_stderr() => return Err(SettingError::from_clap(&error).into()),
            Err(help) => help.exit(),
        };
        let service = &mut settings.service;
        service
            .default_admin_password
            .get_or_insert("admin-password".into());
        service
            .signing_secret
            .get_or_insert(secret_generation::generate_signing_secret()?);
        service
            .second_factor_key
            .get_or_insert(secret_generation::generate_signing_secret()?);
        // With this cost, the lowest one of bcrypt, a hash takes about a millisecond.
        service.bcrypt_cost = 4;
        Ok(settings)
    }

    /// Returns the users of `--user` and of the file in `--users`. Fails if the file cannot be read or parsed.
    pub(crate) fn users(&self) -> Result<Vec<NewUser>, SettingError> {
        let mut users = self.flags.clone();
        let Some(path) = &self.file else {
            return Ok(users);
        };
        let name = path.display();
        let invalid =
            |error: &dyn Display| SettingError::new("--users", format!("{name}: {error}"));
        let text = fs::read_to_string(path).map_err(|error| invalid(&error))?;
        for user in serde_json::Deserializer::from_str(&text).into_iter() {
            users.push(user.map_err(|error: serde_json::Error| invalid(&error))?);
        }
        Ok(users)
    }
}
