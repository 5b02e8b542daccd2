//! `audit`: shows and verifies the record, which an operator reads directly in the database.
//!
//! `run` seals pending rows and runs one command. `list` and `export` print
//! rows, `verify` checks the seals, and `unreadable` reports rows that cannot be read.

mod export;
mod list;
mod unreadable;
mod verify;

use super::user::operator::Operator;
use crate::store::SealReference;
use clap::Subcommand;
use list::ListArguments;
use rolegate_program::failure::Failure;

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

pub(super) async fn run(command: AuditCommand, operator: &Operator) -> Result<(), Failure> {
    // Pending rows are sealed first. An error is ignored: if the database cannot be written, the
    // command still reads the rows that are sealed.
    let _ = operator.store.seal_all().await;
    match command {
        AuditCommand::List(arguments) => list::run(&operator.store, arguments).await,
        AuditCommand::Export => export::run(&operator.database).await,
        AuditCommand::Verify { seal } => verify::run(operator.database.record().await?, seal).await,
    }
}
