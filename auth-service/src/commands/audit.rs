//! `audit`: the record of what happened, as an operator reads it directly in the database.

mod verify;

use super::user::operator::Operator;
use crate::{
    settings::ServiceSettings,
    store::{AuditFilter, AuditRow, FileClock, SealReference, SealedRecord},
};
use clap::{Args, Subcommand};
use humantime::{format_rfc3339_millis, format_rfc3339_seconds};
use rolegate_program::{
    program::{Failure, print},
    settings::{SettingError, number_between},
};
use rolegate_sql_store::DatabaseUrl;
use serde_json::{Value, json};
use std::{
    io::{self, Write as _},
    pin::Pin,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const END_OF_9999: i64 = 253_402_300_799;

/// A command on the record.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List what happened, the newest first
    List(ListArguments),
    /// Write the record to stdout, the oldest first, one JSON object a line
    Export,
    /// Find sealed rows that were changed, removed or put in another place
    Verify {
        /// A seal from the log, as revision:digest; without one, a chain that was computed anew is not found
        #[arg(long)]
        seal: Option<SealReference>,
    },
}

/// What to list.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// Only what happened to the user with this id
    #[arg(long, value_parser = |text: &str| number_between(text, 1, i64::MAX))]
    user_id: Option<i64>,
    /// Only what the user with this id did
    #[arg(long, value_parser = |text: &str| number_between(text, 1, i64::MAX))]
    actor_id: Option<i64>,
    /// Only this event, such as `role_changed`
    #[arg(long, default_value = "", hide_default_value = true)]
    event: String,
    /// How many, 1 to 1,000,000
    #[arg(long, default_value = "50", value_parser = |text: &str| number_between(text, 1_i64, 1_000_000))]
    limit: i64,
}

/// Runs the command on the record in `database`.
#[must_use]
pub fn run(
    command: AuditCommand,
    settings: &ServiceSettings,
    database: Result<DatabaseUrl, SettingError>,
) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> {
    // Boxed, so that no other crate compiles the commands again.
    Box::pin(async move {
        let roles = settings.extra_roles.clone();
        let operator = Operator::connect(database?, roles, FileClock::Keep).await?;
        // A database that cannot be written has what is sealed.
        while operator.store.seal().await.is_ok_and(|has_more| has_more) {}
        let outcome = match command {
            AuditCommand::List(arguments) => list(&operator, arguments).await,
            AuditCommand::Export => export(operator.transfer.record().await?).await,
            AuditCommand::Verify { seal } => {
                verify::run(operator.transfer.record().await?, seal).await
            }
        };
        operator.store.close().await;
        outcome
    })
}

/// A line for each row; names are quoted, and what is invisible in them is escaped.
async fn list(operator: &Operator, arguments: ListArguments) -> Result<(), Failure> {
    let ListArguments {
        user_id,
        actor_id,
        event,
        limit,
    } = arguments;
    let filter = AuditFilter {
        user_id,
        actor_id,
        event,
        before: None,
        limit,
    };
    for row in operator.store.audit(&filter).await? {
        let person = |id: Option<i64>, name: &Option<String>| {
            let name = name
                .as_ref()
                .map(|name| format!(" {name:?}"))
                .unwrap_or_default();
            id.map_or_else(|| "-".to_owned(), |id| format!("{id}{name}"))
        };
        let (user, actor) = (
            person(row.user_id, &row.username),
            person(row.actor_id, &row.actor),
        );
        let address = row.client_address.as_deref().unwrap_or("-");
        let (revision, event, details) = (row.revision, &row.event, &row.details);
        print(&format!(
            "{revision:>8}  {}  {event:<16}  user {user}  by {actor}  from {address}  {details}",
            format_rfc3339_seconds(time(&row))
        ));
    }
    Ok(())
}

async fn export(mut record: SealedRecord) -> Result<(), Failure> {
    let (mut last, mut lines) = (record.oldest_seal().await?.0.revision, io::stdout().lock());
    loop {
        let (seals, rows) = record.next(last).await?;
        let Some(seal) = seals.last() else {
            return Ok(());
        };
        last = seal.revision;
        for row in rows {
            serde_json::to_writer(&mut lines, &line(&row)?)?;
            lines.write_all(b"\n")?;
        }
    }
}

/// As `GET /audit` shows it.
fn line(row: &AuditRow) -> Result<Value, serde_json::Error> {
    let time = format_rfc3339_millis(time(row)).to_string();
    let details: Value = serde_json::from_str(&row.details)?;
    Ok(json!({
        "revision": row.revision, "time": time, "event": row.event, "user_id": row.user_id,
        "username": row.username, "actor_id": row.actor_id, "actor": row.actor,
        "actor_key": row.actor_key, "actor_session": row.actor_session,
        "client_address": row.client_address, "request_id": row.request_id, "details": details,
    }))
}

/// At most the last that can be written, whatever somebody wrote into the table.
fn time(row: &AuditRow) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(row.at.clamp(0, END_OF_9999).cast_unsigned())
}
