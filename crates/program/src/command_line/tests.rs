use super::{Command, Stop, parse_from};
use crate::settings::number_between;
use clap::{Parser, Subcommand};
use std::ffi::OsString;

#[derive(Debug, Subcommand)]
enum Own {
    /// Migrate
    Migrate,
}

#[derive(Debug, Parser)]
struct Settings {
    #[arg(long, env = "SAMPLE_FIRST", default_value = "1", value_parser = small)]
    first: u8,
    #[arg(long, env = "SAMPLE_SECOND", default_value = "2", value_parser = small)]
    second: u8,
}

/// `PATH` is set on every machine, and is not a number.
#[derive(Debug, Parser)]
struct InvalidEnvironment {
    #[arg(long = "path", env = "PATH", value_name = "PATH", default_value = "1", value_parser = small)]
    _first: u8,
}

fn small(text: &str) -> Result<u8, String> {
    number_between(0, 9)(text)
}

fn parse<S: Parser>(arguments: &str) -> Result<(S, Command<Own>), String> {
    let arguments = arguments.split(' ').map(OsString::from);
    parse_from(arguments).map_err(|stop| match stop {
        Stop::Invalid(error) => error.to_string(),
        Stop::Help(help) => help.to_string(),
    })
}

#[test]
fn flags_may_precede_or_follow_the_command() {
    for arguments in [
        "sample --first 7 --second 8 serve",
        "sample serve --first 7 --second 8",
        "sample --first 7 serve --second 8",
        "sample --first 7 --second 8",
        "sample --first 7 migrate --second 8",
    ] {
        let (settings, command) = parse::<Settings>(arguments).expect(arguments);
        assert_eq!((settings.first, settings.second), (7, 8), "{arguments}");
        let is_own = matches!(command, Command::Own(Own::Migrate));
        assert!(is_own == arguments.contains("migrate"));
        assert!(is_own || matches!(command, Command::Serve));
    }
}

#[test]
fn invalid_variables_flags_and_commands_are_rejected() {
    let error = parse::<InvalidEnvironment>("sample serve").expect_err("not a number");
    assert_eq!(error, "PATH: must be a whole number from 0 to 9");
    for arguments in [
        "sample healthcheck --first many",
        "sample --first many healthcheck",
    ] {
        let error = parse::<Settings>(arguments).expect_err(arguments);
        assert!(
            error.ends_with(": must be a whole number from 0 to 9"),
            "{error}"
        );
    }
    let error = parse::<Settings>("sample --second 1 serf").expect_err("no such command");
    assert!(error.contains("no such flag or subcommand"), "{error}");
}

#[test]
fn help_of_a_command_hides_the_settings_of_the_server() {
    let help = parse::<Settings>("sample healthcheck --help").expect_err("help");
    assert!(
        !help.contains("--first") && !help.contains("SAMPLE_SECOND"),
        "{help}"
    );
    assert!(help.starts_with("Exit with 0 if the program"), "{help}");
    let help = parse::<Settings>("sample --help").expect_err("help");
    assert!(
        help.contains("--first") && help.contains("SAMPLE_SECOND"),
        "{help}"
    );
}

#[test]
fn help_lists_the_commands() {
    let help = parse::<Settings>("sample --help").expect_err("clap reports help as an error");
    assert!(
        help.contains("healthcheck") && help.contains("migrate"),
        "{help}"
    );
}
