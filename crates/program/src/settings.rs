//! Settings from flags and environment, through clap. An invalid setting is one line on stderr that
//! names the variable, and exit 64.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::{fmt::Display, net::SocketAddr, str::FromStr};

/// An invalid setting, as one line: the variable, the problem and what is valid. Never contains the
/// value of a secret.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{variable}: {problem}")]
pub struct SettingError {
    variable: String,
    problem: String,
}

impl SettingError {
    /// `variable` is the name in the environment.
    pub fn new(variable: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { variable: variable.into(), problem: problem.into() }
    }
}

/// Why there are no settings.
#[derive(Debug)]
pub enum ParseOutcome {
    /// The user asked for help or the version: print this and exit 0.
    Help(String),
    /// A setting is invalid: print one line and exit 64.
    Invalid(SettingError),
}

pub(crate) fn parse_outcome(error: &clap::Error) -> ParseOutcome {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            ParseOutcome::Help(error.render().to_string())
        }
        _ => ParseOutcome::Invalid(one_line(error)),
    }
}

/// The message of clap has several lines and quotes the value, which may be a secret.
fn one_line(error: &clap::Error) -> SettingError {
    let argument = arguments(error, ContextKind::InvalidArg).first().map_or("", String::as_str);
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
    SettingError::new(variable_of(argument), problem)
}

fn arguments(error: &clap::Error, kind: ContextKind) -> &[String] {
    match error.get(kind) {
        Some(ContextValue::String(argument)) => std::slice::from_ref(argument),
        Some(ContextValue::Strings(arguments)) => arguments,
        _ => &[],
    }
}

/// An argument that is given twice conflicts with itself.
fn conflict(error: &clap::Error, argument: &str) -> String {
    let prior = arguments(error, ContextKind::PriorArg).iter();
    let others: Vec<_> = prior.filter(|prior| *prior != argument).map(|p| variable_of(p)).collect();
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

/// `AUTH_LISTEN_ADDR` in `--auth-listen-addr <AUTH_LISTEN_ADDR>`, `--postgres` in `--postgres
/// <USER@HOST:PORT/DATABASE>`, which is not a variable, and `NAME` in `<NAME>`.
fn variable_of(argument: &str) -> &str {
    let (flag, value) = argument.split_once('<').unwrap_or((argument, ""));
    let (flag, value) = (flag.trim_end(), value.trim_end_matches(['.', '>']));
    let is_its_variable = || flag.trim_start_matches('-').replace('-', "_").to_uppercase() == value;
    match flag {
        "" if !value.is_empty() => value,
        _ if flag.starts_with('-') => {
            if is_its_variable() {
                value
            } else {
                flag
            }
        }
        // A stray argument is not named, because it may be a misplaced secret.
        _ => "arguments",
    }
}

/// No two listeners may have one address; `0.0.0.0` includes every other IPv4 address, and `::` every
/// other address. Port 0 is a free port each time.
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

/// An address to listen on; `None` is `off`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub Option<SocketAddr>);

/// Parses `ip:port` or `off`, as a `value_parser` of clap. `PORT` is the example in the error.
pub fn listen_address<const PORT: u16>(text: &str) -> Result<ListenAddress, String> {
    if text == "off" {
        return Ok(ListenAddress(None));
    }
    let address = socket_address::<PORT>(text).map(|address| ListenAddress(Some(address)));
    address.map_err(|problem| problem + ", or off")
}

/// Parses `ip:port`, as a `value_parser` of clap. `PORT` is the example in the error.
pub fn socket_address<const PORT: u16>(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("must be an IP address and port such as 127.0.0.1:{PORT}"))
}

/// Parses a number from `min` to `max`, as a `value_parser` of clap.
pub fn number_between<N>(text: &str, min: N, max: N) -> Result<N, String>
where
    N: FromStr + PartialOrd + Display + Copy,
{
    match text.parse::<N>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {min} to {max}")),
    }
}

#[cfg(test)]
mod tests {
    use super::{ParseOutcome, check_distinct, parse_outcome, socket_address, variable_of};
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Arguments {
        #[arg(long, env = "SAMPLE_LISTEN_ADDR", value_parser = socket_address::<50051>)]
        sample_listen_addr: Option<std::net::SocketAddr>,
        #[arg(long, value_name = "STEP", conflicts_with_all = ["sample_listen_addr", "all"])]
        rotate: Option<String>,
        #[arg(long)]
        all: bool,
    }

    fn line(arguments: &[&str]) -> String {
        let error = Arguments::try_parse_from(arguments).expect_err("invalid settings");
        match parse_outcome(&error) {
            ParseOutcome::Invalid(error) => error.to_string(),
            ParseOutcome::Help(text) => panic!("expected an error, got {text}"),
        }
    }

    #[test]
    fn an_invalid_value_is_one_line_with_the_variable_and_without_the_value() {
        let line = line(&["sample", "--sample-listen-addr", "hunter2"]);
        assert_eq!(
            line,
            "SAMPLE_LISTEN_ADDR: must be an IP address and port such as 127.0.0.1:50051"
        );
    }

    #[test]
    fn an_unknown_flag_is_named() {
        let line = line(&["sample", "--simple"]);
        assert_eq!(line, "--simple: there is no such flag or subcommand; --help lists them");
    }

    #[test]
    fn a_conflict_names_the_other_arguments_and_a_repetition_itself() {
        let address = ["--sample-listen-addr", "[::1]:1"];
        for (arguments, expected) in [
            ([&address[..], &address].concat(), "SAMPLE_LISTEN_ADDR: is given more than once"),
            (["--all", "--rotate", "s"].to_vec(), "--all: cannot be used with --rotate"),
            (
                [&["--rotate", "s"], &address[..]].concat(),
                "--rotate: cannot be used with SAMPLE_LISTEN_ADDR",
            ),
        ] {
            assert_eq!(line(&[&["sample"], &arguments[..]].concat()), expected);
        }
    }

    #[test]
    fn an_argument_is_named_by_its_variable_its_flag_or_its_place() {
        for (argument, name) in [
            ("--bcrypt-cost <BCRYPT_COST>", "BCRYPT_COST"),
            ("--postgres <USER@HOST:PORT/DATABASE>", "--postgres"),
            ("--database-secrets <DIR>", "--database-secrets"),
            ("<NAME>", "NAME"),
            ("<NAME>...", "NAME"),
            ("--sereve", "--sereve"),
            ("hunter2", "arguments"),
            ("", "arguments"),
        ] {
            assert_eq!(variable_of(argument), name, "{argument}");
        }
    }

    #[test]
    fn two_listeners_of_one_address_are_both_named() {
        let check = |one: &str, other: &str| {
            let address = |text: &str| text.parse().expect("an address");
            check_distinct(&[("ONE_ADDR", address(one)), ("OTHER_ADDR", address(other))])
        };
        for (one, other) in [
            ("127.0.0.1:8000", "127.0.0.1:8000"),
            ("0.0.0.0:8000", "127.0.0.1:8000"),
            ("127.0.0.1:8000", "[::]:8000"),
            ("[::]:8000", "0.0.0.0:8000"),
            ("[::1]:8000", "[::]:8000"),
        ] {
            let error = check(one, other).expect_err(one).to_string();
            let expected =
                format!("OTHER_ADDR: {other} is also the address of ONE_ADDR; set another port");
            assert_eq!(error, expected);
        }
        for (one, other) in [
            ("127.0.0.1:8000", "127.0.0.1:8001"),
            ("127.0.0.1:8000", "127.0.0.2:8000"),
            ("0.0.0.0:8000", "[::1]:8000"),
            ("[::1]:8000", "0.0.0.0:8000"),
            ("127.0.0.1:0", "127.0.0.1:0"),
        ] {
            assert_eq!(check(one, other), Ok(()), "{one} {other}");
        }
    }

    #[test]
    fn help_is_not_an_error() {
        let error =
            Arguments::try_parse_from(["sample", "--help"]).expect_err("clap reports help so");
        assert!(
            matches!(parse_outcome(&error), ParseOutcome::Help(text) if text.contains("Usage"))
        );
        assert!(
            Arguments::try_parse_from(["sample"])
                .expect("no settings")
                .sample_listen_addr
                .is_none()
        );
    }
}
