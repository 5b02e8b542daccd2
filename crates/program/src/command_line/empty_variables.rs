//! Variables that are set to nothing (`NAME=`), such as those of a template that was not filled.
//!
//! An empty variable counts as not set only if the default of its setting is not the weaker choice. Any other empty
//! variable is refused, because its author may have meant the stronger one.

use crate::settings::SettingError;
use clap::{Arg, ArgMatches, Command, builder::Resettable, parser::ValueSource};
use std::env;

/// The settings whose defaults open nothing and weaken nothing. A setting that is not listed is refused if it is empty.
const EMPTY_IS_UNSET: &[&str] = &[
    // The default is the loopback interface.
    "OPS_LISTEN_ADDR",
    // By default nothing is served, trusted, allowed or shared.
    "POSTS_SERVICE_URL",
    "TRUSTED_PROXIES",
    "EXTRA_ROLES",
    "SIGN_IN_URL",
    "COOKIE_DOMAIN",
    "RETURN_ORIGINS",
    "CORS_ALLOWED_ORIGINS",
    "USER_CHANGES_CERTIFICATES",
    // By default nothing is removed.
    "POSTS_OF_DELETED_USERS",
    // By default there is a limit.
    "LOGIN_FAILURE_LIMIT",
    "MAX_CONNECTIONS_PER_ADDRESS",
    "SESSION_IDLE_SECONDS",
    "SESSION_MAX_SECONDS",
    "REQUEST_MEMORY_MIB",
    "RESPONSE_MEMORY_MIB",
    // They change neither who may do what, nor what is kept.
    "BCRYPT_THREADS",
    "BCRYPT_LANES",
    "LAME_DUCK_SECONDS",
    "LOG_FORMAT",
    "RUST_LOG",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
];

/// The command line without the variables that are empty, so that their settings have their defaults.
pub(super) fn unset(command: Command) -> Command {
    command
        .mut_args(|argument| {
            if empty_variable(&argument).is_some() {
                argument.env(Resettable::Reset)
            } else {
                argument
            }
        })
        .mut_subcommands(unset)
}

/// Refuses a variable that is empty and whose setting is neither a flag of the command line nor one of those that may
/// be empty.
pub(super) fn check(command: &Command, matches: &ArgMatches) -> Result<(), SettingError> {
    for argument in command.get_arguments() {
        let is_flag =
            || matches.value_source(argument.get_id().as_str()) == Some(ValueSource::CommandLine);
        if let Some(name) = empty_variable(argument)
            && !EMPTY_IS_UNSET.contains(&name)
            && !is_flag()
        {
            let problem = "is empty; set a value, or remove the variable to unset it";
            return Err(SettingError::new(name, problem));
        }
    }
    let subcommand = matches
        .subcommand()
        .and_then(|(name, matches)| Some((command.find_subcommand(name)?, matches)));
    subcommand.map_or(Ok(()), |(command, matches)| check(command, matches))
}

fn empty_variable(argument: &Arg) -> Option<&str> {
    let name = argument.get_env()?;
    if env::var_os(name)?.is_empty() {
        name.to_str()
    } else {
        None
    }
}
