//! Decides which variable of the environment a setting is read from, and refuses variables that are probably mistakes.
//!
//! Each setting is also read from a variable with [`VARIABLE_PREFIX`], which takes precedence over the one without it.
//! So an application's own `DATABASE_URL` can be in the same environment. A variable with the prefix that is almost the
//! name of a setting is refused, because the setting would silently have its default.
//!
//! An empty variable (`NAME=`) may come from a template that was not filled. It counts as not set only if the default
//! of its setting is not the weaker choice. Any other empty variable is refused, because the operator may have meant
//! the stronger choice.

use crate::settings::SettingError;
use clap::{Arg, ArgMatches, Command, builder::Resettable, parser::ValueSource};
use std::{env, ffi::OsString};

/// The prefix that the name of a setting may have in the environment.
const VARIABLE_PREFIX: &str = "ROLEGATE_";

/// The names of the settings of all programs, one on each line. All of them are known here, because programs may share
/// an environment.
const SETTINGS: &str = include_str!("settings.txt");

/// The variable with the path of the test server, which tests of applications start.
const TEST_SERVER_PATH: &str = "ROLEGATE_TEST_SERVER";

/// The settings whose defaults neither open nor weaken anything, so that an empty variable counts as not set. An empty
/// variable of any other setting is refused.
const EMPTY_IS_UNSET: &[&str] = &[
    // The default listens only on the loopback interface.
    "OPS_LISTEN_ADDR",
    // The defaults grant no further access: no further service, trusted peer, role, domain or origin. The sign-in
    // page keeps its standard address and texts.
    "POSTS_SERVICE_URL",
    "TRUSTED_PROXIES",
    "EXTRA_ROLES",
    "SIGN_IN_URL",
    "SIGN_IN_TITLE",
    "SIGN_IN_HELP",
    "COOKIE_DOMAIN",
    "RETURN_ORIGINS",
    "CORS_ALLOWED_ORIGINS",
    "USER_CHANGES_CERTIFICATES",
    "SHARE_DATABASE",
    // The default removes nothing.
    "POSTS_OF_DELETED_USERS",
    // The defaults are limits, so an empty variable removes none.
    "LOGIN_FAILURE_LIMIT",
    "MAX_CONNECTIONS_PER_ADDRESS",
    "SESSION_IDLE_SECONDS",
    "SESSION_MAX_SECONDS",
    "REQUEST_MEMORY_MIB",
    "RESPONSE_MEMORY_MIB",
    // These settings change neither who has access, nor what is stored.
    "BCRYPT_THREADS",
    "BCRYPT_LANES",
    "LAME_DUCK_SECONDS",
    "LOG_FORMAT",
    "RUST_LOG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// Returns the command line in which each setting has the name of the variable that it is read from.
///
/// A setting and its `_FILE` are read at the same level: as flags, from variables with the prefix, or from variables
/// without it.
pub(super) fn choose(command: Command, arguments: &[OsString]) -> Command {
    let command = command.mut_args(|argument| {
        let Some(name) = argument.get_env().and_then(|name| name.to_str()) else {
            return argument;
        };
        let stem = name.strip_suffix("_FILE").unwrap_or(name);
        let both = [stem.to_owned(), format!("{stem}_FILE")];
        if both.iter().any(|name| is_flag(arguments, name)) {
            return argument.env(Resettable::Reset);
        }
        if !both.iter().any(|name| is_set_with_prefix(name)) {
            return argument;
        }
        // clap requires a name that lives as long as the process.
        let variable: &str = with_prefix(name).leak();
        argument.env(variable)
    });
    command.mut_subcommands(|command| choose(command, arguments))
}

/// Returns the name of the variable that takes precedence over the one with the plain name of the setting.
pub(crate) fn with_prefix(name: &str) -> String {
    format!("{VARIABLE_PREFIX}{name}")
}

fn is_flag(arguments: &[OsString], name: &str) -> bool {
    let flag = format!("--{}", name.to_lowercase().replace('_', "-"));
    arguments
        .iter()
        .filter_map(|argument| argument.to_str())
        .any(|argument| argument.split('=').next() == Some(&flag))
}

fn is_set_with_prefix(name: &str) -> bool {
    let Some(value) = env::var_os(with_prefix(name)) else {
        return false;
    };
    !value.is_empty() || !EMPTY_IS_UNSET.contains(&name)
}

/// Refuses a variable whose name is almost that of a setting with the prefix. Returns the names of the other variables
/// with the prefix that no program reads.
pub(crate) fn check_names() -> Result<Vec<String>, SettingError> {
    let mut unread: Vec<String> = env::vars_os()
        .filter_map(|(variable, _)| variable.into_string().ok())
        .filter(|variable| variable.starts_with(VARIABLE_PREFIX) && !is_expected(variable))
        .collect();
    unread.sort_unstable();
    for variable in &unread {
        if let Some(near) = nearest(&variable[VARIABLE_PREFIX.len()..]) {
            let problem = format!("is not a setting; did you mean {}?", with_prefix(near));
            return Err(SettingError::new(variable, problem));
        }
    }
    Ok(unread)
}

/// Returns `true` if a program reads the variable, or if Kubernetes may have set it.
///
/// Kubernetes sets such variables in every container for a service whose name begins like the prefix.
fn is_expected(variable: &str) -> bool {
    variable.ends_with("_SERVICE_HOST")
        || variable.ends_with("_PORT")
        || variable.contains("_PORT_")
        || variable == TEST_SERVER_PATH
        || SETTINGS
            .lines()
            .any(|name| variable[VARIABLE_PREFIX.len()..] == *name)
}

/// Returns the setting whose name is nearest to this one, or `None` if none is near. Near names differ by at most two
/// letters, and by at most a third of the letters of the setting.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_uppercase();
    let (_, nearest) = SETTINGS
        .lines()
        .map(|setting| (distance(setting, &name), setting))
        .filter(|(distance, setting)| *distance <= 2.min(setting.len() / 3))
        .min()?;
    Some(nearest)
}

/// Returns the number of letters that have to be inserted, removed or replaced to turn one name into the other
/// (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in other.bytes().enumerate() {
            let replaced = diagonal + usize::from(letter != other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// Returns the command line without the variables that are empty, so that their settings have their defaults.
pub(super) fn ignore_empty(command: Command) -> Command {
    command
        .mut_args(|argument| {
            if empty_variable(&argument).is_some() {
                argument.env(Resettable::Reset)
            } else {
                argument
            }
        })
        .mut_subcommands(ignore_empty)
}

/// Refuses an empty variable, unless its setting is in [`EMPTY_IS_UNSET`] or is also given as a flag.
pub(super) fn refuse_empty(command: &Command, matches: &ArgMatches) -> Result<(), SettingError> {
    for argument in command.get_arguments() {
        let is_given =
            || matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
        if let Some(name) = empty_variable(argument)
            && !EMPTY_IS_UNSET.contains(&name.strip_prefix(VARIABLE_PREFIX).unwrap_or(name))
            && !is_given()
        {
            let problem = "is empty; set a value, or remove the variable to unset it";
            return Err(SettingError::new(name, problem));
        }
    }
    let Some((name, matches)) = matches.subcommand() else {
        return Ok(());
    };
    match command.find_subcommand(name) {
        Some(subcommand) => refuse_empty(subcommand, matches),
        None => Ok(()),
    }
}

fn empty_variable(argument: &Arg) -> Option<&str> {
    let name = argument.get_env()?;
    if env::var_os(name)?.is_empty() {
        name.to_str()
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
