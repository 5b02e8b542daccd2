//! Parses the command line of a program: its settings and an optional command. Flags may precede or follow the command.

mod variables;

use crate::{settings::SettingError, version::version};
use clap::{Arg, FromArgMatches as _, Parser, Subcommand};
use std::{env, ffi::OsString};
pub(crate) use variables::{check_names, with_prefix};

#[derive(Debug, Subcommand)]
pub(crate) enum Command<C: Subcommand> {
    /// Serve; this is the default
    Serve,
    /// Exit with 0 if the program that runs with these settings is ready, else with 1
    Healthcheck,
    /// Run the steps of a start without changing anything, and print one line for each
    Doctor,
    #[command(flatten)]
    Own(C),
}

/// The reason why a command line is not run.
pub(crate) enum Stop {
    /// The user requested the help or the version. The error holds the text to print.
    Help(clap::Error),
    Invalid(SettingError),
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        if error.use_stderr() {
            Self::Invalid(SettingError::from_clap(&error))
        } else {
            Self::Help(error)
        }
    }
}

pub(crate) fn parse<S: Parser, C: Subcommand>() -> Result<(S, Command<C>), Stop> {
    parse_from(env::args_os())
}

fn parse_from<S: Parser, C: Subcommand>(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<(S, Command<C>), Stop> {
    let program = command::<S, C>().mut_args(|argument| argument.global(true));
    let settings: Vec<Arg> = program.get_arguments().cloned().collect();
    let program = hide_in_subcommands(program, &settings);
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let chosen = variables::choose(program.clone(), &arguments);
    let without_empty = variables::ignore_empty(chosen.clone());
    let mut matches = match without_empty.try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) if error.use_stderr() => return Err(error.into()),
        // The help is rendered from the full command line, because it must also list the variables that are empty.
        Err(help) => {
            let full_help = program.try_get_matches_from(&arguments).err();
            return Err(full_help.unwrap_or(help).into());
        }
    };
    variables::refuse_empty(&chosen, &matches).map_err(Stop::Invalid)?;
    let settings = S::from_arg_matches_mut(&mut matches)?;
    let command = match matches.subcommand_name() {
        Some(_) => Command::from_arg_matches_mut(&mut matches)?,
        None => Command::Serve,
    };
    Ok((settings, command))
}

/// Returns the command line with all commands, whose help does not yet hide the settings.
pub(crate) fn command<S: Parser, C: Subcommand>() -> clap::Command {
    let program = S::command();
    // Otherwise clap would replace the description of the program by the comment on the enum of commands.
    let about = program.get_about().cloned().unwrap_or_default();
    Command::<C>::augment_subcommands(program)
        .about(about)
        .version(version())
}

/// Lets subcommands accept every setting, but show only their own flags in their help.
fn hide_in_subcommands(command: clap::Command, settings: &[Arg]) -> clap::Command {
    command.mut_subcommands(|subcommand| {
        let hidden = settings.iter().map(|setting| setting.clone().hide(true));
        hide_in_subcommands(subcommand.args(hidden), settings)
            .after_help("It also reads the server's settings, which the program's --help lists.")
    })
}

#[cfg(test)]
mod tests;
