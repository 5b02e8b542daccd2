//! The command line of a program: settings and an optional command. Flags may precede or follow it.

use crate::settings::{ParseOutcome, parse_outcome};
use clap::{Arg, FromArgMatches as _, Parser, Subcommand};
use std::ffi::OsString;

/// The commands of every program, and its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Command<C: Subcommand> {
    /// Serve; the default without a command
    Serve,
    /// Exit with 0 if the program that runs with these settings is ready, else with 1
    Healthcheck,
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
    #[command(flatten)]
    Own(C),
}

/// Parses the arguments and the environment of this process.
pub(crate) fn parse<S: Parser, C: Subcommand>() -> Result<(S, Command<C>), ParseOutcome> {
    parse_from(std::env::args_os()).map_err(|error| parse_outcome(&error))
}

fn parse_from<S: Parser, C: Subcommand>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(S, Command<C>), clap::Error> {
    let program = S::command().mut_args(|argument| argument.global(true));
    // The comment on the enum of commands would replace the one on the settings.
    let about = program.get_about().cloned().unwrap_or_default();
    let settings: Vec<Arg> = program.get_arguments().cloned().collect();
    let program = Command::<C>::augment_subcommands(program).about(about);
    let mut matches = hide_in_subcommands(program, &settings).try_get_matches_from(arguments)?;
    let settings = S::from_arg_matches_mut(&mut matches)?;
    let command = match matches.subcommand_name() {
        Some(_) => Command::from_arg_matches_mut(&mut matches)?,
        None => Command::Serve,
    };
    Ok((settings, command))
}

/// Subcommands accept every setting; their help shows only what is their own.
fn hide_in_subcommands(command: clap::Command, settings: &[Arg]) -> clap::Command {
    let names: Vec<_> = command.get_subcommands().map(|it| it.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |subcommand| {
            let hidden = settings.iter().map(|setting| setting.clone().hide(true));
            hide_in_subcommands(subcommand.args(hidden), settings)
                .after_help("Reads the settings of the server, which --help of the program lists.")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{Command, parse_from};
    use crate::settings::{ParseOutcome, number_between, parse_outcome};
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
        number_between(text, 0, 9)
    }

    fn parse<S: Parser>(arguments: &str) -> Result<(S, Command<Own>), String> {
        let arguments = arguments.split(' ').map(OsString::from);
        parse_from(arguments).map_err(|error| match parse_outcome(&error) {
            ParseOutcome::Invalid(error) => error.to_string(),
            ParseOutcome::Help(text) => text,
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
        for arguments in ["sample healthcheck --first many", "sample --first many healthcheck"] {
            let error = parse::<Settings>(arguments).expect_err(arguments);
            assert!(error.ends_with(": must be a whole number from 0 to 9"), "{error}");
        }
        let error = parse::<Settings>("sample --second 1 serf").expect_err("no such command");
        assert!(error.contains("no such flag or subcommand"), "{error}");
    }

    #[test]
    fn help_of_a_command_hides_the_settings_of_the_server() {
        let help = parse::<Settings>("sample healthcheck --help").expect_err("help");
        assert!(!help.contains("--first") && !help.contains("SAMPLE_SECOND"), "{help}");
        assert!(help.starts_with("Exit with 0 if the program"), "{help}");
        let help = parse::<Settings>("sample --help").expect_err("help");
        assert!(help.contains("--first") && help.contains("SAMPLE_SECOND"), "{help}");
    }

    #[test]
    fn help_lists_the_commands() {
        let help = parse::<Settings>("sample --help").expect_err("clap reports help as an error");
        assert!(help.contains("healthcheck") && help.contains("migrate"), "{help}");
    }
}
