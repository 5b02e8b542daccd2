//! `audit export`: writes the whole record as JSON, for programs.

use super::unreadable::{UnreadableRows, warn};
use crate::{audit::AuditRow, commands::timestamp::system_time, store::OperatorDatabase};
use humantime::format_rfc3339_millis;
use rolegate_program::failure::Failure;
use serde_json::{Value, json};
use std::{
    fmt::Display,
    io::{self, Write as _},
};

/// The columns that only the store uses. Among them are the salts, with which erased names could be guessed.
const INTERNAL_COLUMNS: [&str; 5] = ["id", "at", "state", "former_username", "commitments"];

/// Writes each row of the record to stdout as a line of JSON, the oldest first.
///
/// Rows that cannot be read, and rows that retention removes before they are read, are reported on
/// stderr. The command then fails, after it has written all other rows.
pub(super) async fn run(database: &OperatorDatabase) -> Result<(), Failure> {
    let mut pages = database.record_pages().await?;
    let mut unreadable = UnreadableRows::default();
    let mut is_complete = true;
    while let Some(page) = pages.next().await? {
        if let Some(removed) = page.removed {
            is_complete = false;
            warn(&format!(
                "revisions {} to {} were removed by retention before they were read",
                removed.first, removed.last
            ));
        }
        let mut stdout = io::stdout().lock();
        for row in page.rows {
            match format_row(row.content) {
                Ok(line) => writeln!(stdout, "{line}")?,
                Err(problem) => unreadable.name(row.revision, &problem),
            }
        }
        stdout.flush()?;
    }
    unreadable.finish()?;
    if !is_complete {
        return Err("the export is incomplete: retention removed rows meanwhile".into());
    }
    Ok(())
}

/// Formats a row with the fields of `GET /audit`. Fails with the problem if the row cannot be read.
fn format_row(content: Result<AuditRow, impl Display>) -> Result<Value, String> {
    let row = content.map_err(|problem| problem.to_string())?;
    let time = format_rfc3339_millis(system_time(row.at)).to_string();
    let details: Value = serde_json::from_str(&row.readable_details())
        .map_err(|error| format!("the details are no JSON: {error}"))?;
    let mut entry = json!(row);
    if let Value::Object(fields) = &mut entry {
        fields.retain(|column, _| !INTERNAL_COLUMNS.contains(&column.as_str()));
    }
    entry["time"] = time.into();
    entry["details"] = details;
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::format_row;
    use crate::{audit::AuditRow, store::UnreadableColumn};

    #[test]
    fn a_row_has_the_fields_of_get_audit_and_neither_salts_nor_a_former_name() {
        let row = AuditRow {
            revision: 7,
            id: 9,
            at: 1,
            event: "user_disabled".to_owned(),
            details: "{}".to_owned(),
            state: Some("user disabled".to_owned()),
            former_username: Some("salt:ann".to_owned()),
            commitments: "salt salt".to_owned(),
            ..AuditRow::default()
        };
        let entry = format_row(Ok::<_, UnreadableColumn>(row)).expect("a readable row");
        let fields: Vec<&String> = entry.as_object().expect("an object").keys().collect();
        assert_eq!(
            fields,
            [
                "actor",
                "actor_id",
                "actor_key",
                "actor_session",
                "client_address",
                "details",
                "event",
                "request_id",
                "revision",
                "time",
                "user_id",
                "username",
            ]
        );
    }
}
