//! What a program was started with: its settings, and which of its commands is asked for.

use crate::{
    healthcheck,
    program::{self, CommonSettings, Failure, ProgramSettings},
    settings::{ParseOutcome, SettingError, parse_outcome},
    shutdown::Shutdown,
};
use clap::{Command, Parser, Subcommand};
use std::{
    ffi::{OsStr, OsString},
    net::SocketAddr,
    process::ExitCode,
};

/// The settings and the command of a program. Flags may stand on either side of the command.
#[derive(Debug)]
pub struct CommandLine<S, C> {
    /// From flags and environment.
    pub settings: S,
    /// `None` when no command was named: then a program serves.
    pub command: Option<C>,
    /// Variables of the environment that are wrong; [`Self::settings`] has their defaults. Empty
    /// but for commands that want to know all of them.
    pub wrong: Vec<SettingError>,
}

impl<S: ProgramSettings, C> ProgramSettings for CommandLine<S, C> {
    const PROGRAM: &'static str = S::PROGRAM;

    fn life(&self) -> &CommonSettings {
        self.settings.life()
    }

    fn ops_listen_addr(&self) -> SocketAddr {
        self.settings.ops_listen_addr()
    }
}

/// The commands of a program that has no others.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ServeOrHealthcheck {
    /// Serve; the same as no command
    Serve,
    /// Ask the program that runs with these settings whether it is ready: exit 0 or 1
    Healthcheck,
}

/// Runs a program that has no other commands.
pub fn serve_or_healthcheck<S, F>(
    line: Result<CommandLine<S, ServeOrHealthcheck>, ParseOutcome>,
    serve: impl FnOnce(S, Shutdown) -> F,
) -> ExitCode
where
    S: ProgramSettings,
    F: Future<Output = Result<(), Failure>>,
{
    program::run(line, async |line, shutdown| match line.command {
        Some(ServeOrHealthcheck::Healthcheck) => {
            healthcheck::run(line.settings.ops_listen_addr()).await
        }
        Some(ServeOrHealthcheck::Serve) | None => serve(line.settings, shutdown).await,
    })
}

/// Reads the arguments of this process and its environment. The first wrong setting ends it.
pub fn parse<S: Parser, C: Subcommand>() -> Result<CommandLine<S, C>, ParseOutcome> {
    parse_for(|_command| false)
}

/// The same, but goes on without the variables that are wrong when the command `wants_all_faults`.
pub fn parse_for<S: Parser, C: Subcommand>(
    wants_all_faults: fn(&C) -> bool,
) -> Result<CommandLine<S, C>, ParseOutcome> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let every_setting = S::command().mut_args(|argument| argument.global(true));
    read(C::augment_subcommands(every_setting), &arguments, wants_all_faults)
}

fn read<S: Parser, C: Subcommand>(
    mut program: Command,
    arguments: &[OsString],
    wants_all_faults: fn(&C) -> bool,
) -> Result<CommandLine<S, C>, ParseOutcome> {
    let mut wrong: Vec<SettingError> = Vec::new();
    loop {
        let error = match read_once(program.clone(), arguments) {
            Ok((settings, command)) => {
                let is_welcome = wrong.is_empty() || command.as_ref().is_some_and(wants_all_faults);
                return if is_welcome {
                    Ok(CommandLine { settings, command, wrong })
                } else {
                    Err(ParseOutcome::Invalid(wrong.swap_remove(0)))
                };
            }
            Err(error) => match parse_outcome(&error) {
                ParseOutcome::Invalid(error) => error,
                asked @ ParseOutcome::Help(_) => return Err(asked),
            },
        };
        let variable = OsStr::new(error.variable());
        let of_the_environment = program.get_arguments().find(|it| it.get_env() == Some(variable));
        let Some(argument) = of_the_environment.map(|argument| argument.get_id().clone()) else {
            // A flag or an argument, which cannot be left out.
            wrong.push(error);
            return Err(ParseOutcome::Invalid(wrong.swap_remove(0)));
        };
        program = program.mut_arg(argument, |argument| argument.env(None::<&str>));
        wrong.push(error);
    }
}

fn read_once<S: Parser, C: Subcommand>(
    program: Command,
    arguments: &[OsString],
) -> Result<(S, Option<C>), clap::Error> {
    let mut matches = program.try_get_matches_from(arguments)?;
    let settings = S::from_arg_matches_mut(&mut matches)?;
    let has_command = matches.subcommand_name().is_some();
    let command = has_command.then(|| C::from_arg_matches_mut(&mut matches)).transpose()?;
    Ok((settings, command))
}

#[cfg(test)]
mod tests {
    use super::{CommandLine, ServeOrHealthcheck, read};
    use crate::settings::{ParseOutcome, SettingError, number_between};
    use clap::{Parser, Subcommand as _};
    use std::ffi::OsString;

    #[derive(Debug, Parser)]
    struct Settings {
        #[arg(long, env = "SAMPLE_FIRST", default_value = "1", value_parser = small)]
        first: u8,
        #[arg(long, env = "SAMPLE_SECOND", default_value = "2", value_parser = small)]
        second: u8,
    }

    /// `PATH` and `HOME` are set wherever tests run, and are no numbers.
    #[derive(Debug, Parser)]
    struct Faulty {
        #[arg(long, env = "PATH", value_name = "PATH", default_value = "2", value_parser = small)]
        second: u8,
        #[arg(long, env = "HOME", value_name = "HOME", default_value = "3", value_parser = small)]
        third: u8,
    }

    fn small(text: &str) -> Result<u8, String> {
        number_between(text, 0, 9)
    }

    fn parsed<S: Parser>(arguments: &str) -> Result<CommandLine<S, ServeOrHealthcheck>, String> {
        let arguments: Vec<OsString> = arguments.split(' ').map(OsString::from).collect();
        let every_setting = S::command().mut_args(|argument| argument.global(true));
        let program = ServeOrHealthcheck::augment_subcommands(every_setting);
        let tolerates = |command: &_| matches!(command, ServeOrHealthcheck::Healthcheck);
        read(program, &arguments, tolerates).map_err(|error| match error {
            ParseOutcome::Invalid(error) => error.to_string(),
            ParseOutcome::Help(text) => text,
        })
    }

    #[test]
    fn flags_may_stand_on_either_side_of_the_command() {
        for arguments in [
            "sample --first 7 --second 8 serve",
            "sample serve --first 7 --second 8",
            "sample --first 7 serve --second 8",
            "sample --first 7 --second 8",
        ] {
            let line = parsed::<Settings>(arguments).expect(arguments);
            assert_eq!((line.settings.first, line.settings.second), (7, 8), "{arguments}");
            assert_eq!(line.command.is_some(), arguments.contains("serve"));
        }
    }

    #[test]
    fn the_first_wrong_variable_ends_it_and_a_command_may_ask_for_all() {
        let error = parsed::<Faulty>("sample serve").expect_err("neither is a number");
        assert_eq!(error, "PATH: must be a whole number from 0 to 9");
        let line = parsed::<Faulty>("sample healthcheck").expect("they are collected");
        let wrong: Vec<_> = line.wrong.iter().map(SettingError::variable).collect();
        assert_eq!(wrong, ["PATH", "HOME"]);
        assert_eq!((line.settings.second, line.settings.third), (2, 3), "the defaults");
    }

    #[test]
    fn a_wrong_flag_or_command_ends_it_always() {
        for arguments in ["sample healthcheck --first many", "sample --first many healthcheck"] {
            let error = parsed::<Settings>(arguments).expect_err(arguments);
            assert!(error.ends_with(": must be a whole number from 0 to 9"), "{error}");
        }
        let error = parsed::<Settings>("sample --second 1 serf").expect_err("no such command");
        assert!(error.contains("no such flag or subcommand"), "{error}");
    }

    #[test]
    fn help_is_not_an_error() {
        assert!(
            parsed::<Settings>("sample --help")
                .expect_err("clap reports it so")
                .contains("healthcheck")
        );
    }
}
