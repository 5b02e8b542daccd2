//! The error and the value parsers of settings, which `command_line` reads from flags and the environment through clap.
//!
//! An invalid setting ends the program with exit code 64 and one line on stderr that names the variable.

use clap::{
    builder::{PossibleValuesParser, TypedValueParser},
    error::{ContextKind, ContextValue, ErrorKind},
};
use rolegate_grpc_tls::FileError;
use std::{fmt::Display, io, net::SocketAddr, str::FromStr};

/// The error of an invalid setting, as one line: the variable, the problem and what is valid.
///
/// It never contains the value of a secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{variable}: {problem}")]
pub struct SettingError {
    variable: String,
    problem: String,
    is_transient: bool,
}

impl SettingError {
    /// Creates an error. `variable` is the name of the setting in the environment, and `problem` follows it after a
    /// colon.
    pub fn new(variable: impl Into<String>, problem: impl Display) -> Self {
        Self {
            variable: variable.into(),
            problem: problem.to_string(),
            is_transient: false,
        }
    }

    /// Turns an error of clap into one line. The line quotes the value only if the parser of the setting does.
    ///
    /// The message of clap itself has several lines, and quotes the value, which may be a secret.
    #[must_use]
    pub fn from_clap(error: &clap::Error) -> Self {
        let argument = arguments(error, ContextKind::InvalidArg)
            .first()
            .map_or("", String::as_str);
        let problem = match error.kind() {
            ErrorKind::ValueValidation => std::error::Error::source(error)
                .map_or_else(|| "the value is invalid".to_owned(), ToString::to_string),
            ErrorKind::InvalidValue => allowed_values(error),
            ErrorKind::InvalidUtf8 => "the value is not valid UTF-8".to_owned(),
            ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
                "there is no such flag or subcommand; --help lists them".to_owned()
            }
            ErrorKind::ArgumentConflict => conflict(error, argument),
            ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                "a subcommand is missing; --help lists them".to_owned()
            }
            ErrorKind::MissingRequiredArgument => "is required".to_owned(),
            kind => kind.as_str().unwrap_or("is invalid").to_owned(),
        };
        Self::new(variable_of(argument), problem)
    }

    /// Marks the error as one that a later start may not have, because the setting may be right and the state of the
    /// machine may change by itself.
    #[must_use]
    pub fn transient(self) -> Self {
        Self {
            is_transient: true,
            ..self
        }
    }

    /// Marks the error as [transient](Self::transient) if its cause may pass by itself.
    ///
    /// Such causes are a port that another connection holds, and an address that the host does not have yet. So are a
    /// full or failing disk, and a lack of file descriptors. A file that is missing, forbidden or of the wrong kind is
    /// not transient. Neither is an error that the operating system did not report.
    #[must_use]
    pub fn transient_if_retryable(self, cause: &io::Error) -> Self {
        use io::ErrorKind::{
            AlreadyExists, InvalidData, InvalidFilename, InvalidInput, IsADirectory, NotADirectory,
            NotFound, Other, PermissionDenied, Unsupported,
        };
        let is_permanent = matches!(
            cause.kind(),
            AlreadyExists
                | InvalidData
                | InvalidFilename
                | InvalidInput
                | IsADirectory
                | NotADirectory
                | NotFound
                | Other
                | PermissionDenied
                | Unsupported
        );
        if is_permanent { self } else { self.transient() }
    }

    /// Returns `true` if a later start may accept the same setting.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.is_transient
    }
}

impl From<FileError> for SettingError {
    fn from(error: FileError) -> Self {
        Self::new(&*error.setting, &error)
    }
}

fn arguments(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(argument)) => std::slice::from_ref(argument),
        Some(ContextValue::Strings(arguments)) => arguments,
        _ => &[],
    }
}

/// Describes a conflict between arguments. clap reports an argument that is given twice as a conflict with itself.
fn conflict(error: &clap::Error, argument: &str) -> String {
    let prior = arguments(error, ContextKind::PriorArg).iter();
    let others: Vec<_> = prior
        .filter(|prior| *prior != argument)
        .map(|p| variable_of(p))
        .collect();
    if others.is_empty() {
        return "is given more than once".to_owned();
    }
    format!("cannot be used with {}", others.join(", "))
}

fn allowed_values(error: &clap::Error) -> String {
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) if !valid.is_empty() => {
            format!("must be one of: {}", valid.join(", "))
        }
        _ => "a value is missing".to_owned(),
    }
}

/// Returns the name that an error uses for an argument of clap.
///
/// This is `AUTH_LISTEN_ADDR` for `--auth-listen-addr <AUTH_LISTEN_ADDR>`, and `NAME` for `<NAME>`. A flag that is no
/// setting keeps its name, such as `--postgres` for `--postgres <USER@HOST:PORT/DATABASE>`.
fn variable_of(argument: &str) -> &str {
    let (flag, value) = argument.split_once('<').unwrap_or((argument, ""));
    let flag = flag.trim_end();
    let value = value.trim_end_matches(['.', '>']);
    if flag.is_empty() && !value.is_empty() {
        return value;
    }
    let Some(name) = flag.strip_prefix("--").or_else(|| flag.strip_prefix('-')) else {
        // A stray argument is not named, because it may be a misplaced secret.
        return "arguments";
    };
    let variable = name.replace('-', "_").to_uppercase();
    if variable == value { value } else { flag }
}

/// Checks that no two listeners share an address.
///
/// `0.0.0.0` includes every other IPv4 address, and `::` every other address. Port 0 is never shared, because each
/// listener gets a free port of its own.
pub(crate) fn check_distinct(listeners: &[(&str, SocketAddr)]) -> Result<(), SettingError> {
    let includes = |one: &SocketAddr, other: &SocketAddr| {
        one.ip() == other.ip() || one.ip().is_unspecified() && (one.is_ipv6() || other.is_ipv4())
    };
    for (index, (name, address)) in listeners.iter().enumerate() {
        let overlaps = |other: &SocketAddr| {
            address.port() != 0
                && address.port() == other.port()
                && (includes(address, other) || includes(other, address))
        };
        if let Some((other, _)) = listeners[..index].iter().find(|(_, other)| overlaps(other)) {
            let problem = format!("{address} is also the address of {other}; set another port");
            return Err(SettingError::new(*name, problem));
        }
    }
    Ok(())
}

/// An address to listen on, or `None` for `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub Option<SocketAddr>);

/// Parses `ip:port` or `off`, as a `value_parser` of clap. The error shows `PORT` in its example.
pub fn listen_address<const PORT: u16>(text: &str) -> Result<ListenAddress, String> {
    if text == "off" {
        return Ok(ListenAddress(None));
    }
    let address = socket_address::<PORT>(text).map(|address| ListenAddress(Some(address)));
    address.map_err(|problem| problem + ", or off")
}

/// Parses `ip:port`, as a `value_parser` of clap. The error shows `PORT` in its example.
pub fn socket_address<const PORT: u16>(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| format!("must be an IP address and port such as 127.0.0.1:{PORT}"))
}

/// Returns a `value_parser` of clap for `on` and `off`.
pub fn switch() -> impl TypedValueParser<Value = bool> {
    PossibleValuesParser::new(["on", "off"]).map(|value| value == "on")
}

/// Returns a `value_parser` of clap for a number from `min` to `max`.
pub fn number_between<N>(min: N, max: N) -> impl Fn(&str) -> Result<N, String> + Clone
where
    N: FromStr + PartialOrd + Display + Copy,
{
    move |text| match text.parse::<N>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {min} to {max}")),
    }
}

#[cfg(test)]
mod tests;
