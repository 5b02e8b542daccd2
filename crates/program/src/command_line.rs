//! The command line of a program: settings and an optional command.

use crate::{
    program::{CommonSettings, ProgramSettings},
    settings::{ParseOutcome, parse_outcome},
};
use clap::{Arg, Command, Parser, Subcommand};
use std::{ffi::OsString, net::SocketAddr};

/// The settings and the command of a program. Flags may precede or follow the command.
#[derive(Debug)]
pub struct CommandLine<S, C> {
    /// From flags and environment.
    pub settings: S,
    /// `None` means serve.
    pub command: Option<C>,
}

impl<S: ProgramSettings, C> ProgramSettings for CommandLine<S, C> {
    const PROGRAM: &'static str = S::PROGRAM;

    fn common(&self) -> &CommonSettings {
        self.settings.common()
    }

    fn ops_listen_addr(&self) -> SocketAddr {
        self.settings.ops_listen_addr()
    }

    fn client_addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        self.settings.client_addresses()
    }
}

/// Parses the arguments and the environment of this process.
pub fn parse<S: Parser, C: Subcommand>() -> Result<CommandLine<S, C>, ParseOutcome> {
    parse_from(std::env::args_os()).map_err(|error| parse_outcome(&error))
}

fn parse_from<S: Parser, C: Subcommand>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<CommandLine<S, C>, clap::Error> {
    let program = S::command().mut_args(|argument| argument.global(true));
    // The comment on the enum of commands would replace the one on the settings.
    let about = program.get_about().cloned().unwrap_or_default();
    let settings: Vec<Arg> = program.get_arguments().cloned().collect();
    let program = hide_in_subcommands(C::augment_subcommands(program).about(about), &settings);
    let mut matches = program.try_get_matches_from(arguments)?;
    let settings = S::from_arg_matches_mut(&mut matches)?;
    let has_command = matches.subcommand_name().is_some();
    let command = has_command.then(|| C::from_arg_matches_mut(&mut matches)).transpose()?;
    Ok(CommandLine { settings, command })
}

/// Subcommands accept every setting; their help shows only what is their own.
fn hide_in_subcommands(command: Command, settings: &[Arg]) -> Command {
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
    use super::{CommandLine, parse_from};
    use crate::settings::{ParseOutcome, number_between, parse_outcome};
    use clap::{Parser, Subcommand};
    use std::ffi::OsString;

    #[derive(Debug, Subcommand)]
    enum Commands {
        /// Serve; the default without a command
        Serve,
        /// Exit with 0 if the program that runs with these settings is ready, else with 1
        Healthcheck,
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

    fn parse<S: Parser>(arguments: &str) -> Result<CommandLine<S, Commands>, String> {
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
        ] {
            let line = parse::<Settings>(arguments).expect(arguments);
            assert_eq!((line.settings.first, line.settings.second), (7, 8), "{arguments}");
            assert_eq!(line.command.is_some(), arguments.contains("serve"));
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
        assert!(help.contains("healthcheck"), "{help}");
    }
}
