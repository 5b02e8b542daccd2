//! `audit`: shows and verifies the record, which an operator reads directly in the database.
//!
//! `run` opens the database, seals pending rows and runs one command. `list` and `export` print
//! rows, `verify` checks the seals, and `unreadable` reports rows that cannot be read.

mod export;
mod list;
mod unreadable;
mod verify;

use super::user::operator::Operator;
use crate::{
    settings::ServiceSettings,
    store::{FileClock, SealReference},
};
use clap::Subcommand;
use list::ListArguments;
use rolegate_program::{failure::Failure, settings::SettingError};
use rolegate_sql_store::DatabaseUrl;
use std::pin::Pin;

/// A command about the record.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List the record, the newest entries first
    List(ListArguments),
    /// Write the record to stdout, the oldest entries first, a JSON object on each line
    Export,
    /// Look for sealed rows that were changed, removed or moved
    Verify {
        /// Seal from the log to compare with, as revision:digest; without it, a chain of seals that was computed anew
        /// is not noticed
        #[arg(long)]
        seal: Option<SealReference>,
    },
}

/// Runs the command on the record in `database`.
#[must_use]
pub fn run(
    command: AuditCommand,
    settings: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> {
    // The future is boxed, so that rolegate does not compile the commands again.
    Box::pin(async move {
        let roles = settings.extra_roles.clone();
        let operator = Operator::connect(database?, roles, FileClock::Keep).await?;
        // Pending rows are sealed first. An error is ignored: if the database cannot be written,
        // the command still reads the rows that are sealed.
        let _ = operator.store.seal_all().await;
        let outcome = match command {
            AuditCommand::List(arguments) => list::run(&*operator.store, arguments).await,
            AuditCommand::Export => export::run(&operator.database).await,
            AuditCommand::Verify { seal } => {
                verify::run(operator.database.record().await?, seal).await
            }
        };
        operator.store.close().await;
        outcome
    })
}
