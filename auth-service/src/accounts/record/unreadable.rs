//! Rows of the record that cannot be read, because they were damaged.

use crate::store::{AuditRow, CheckedRow, END_OF_9999, UnreadableColumn};
use rolegate_telemetry::log_once::LogOnce;
use serde_json::json;
use std::time::Duration;

/// Limits how often rows that cannot be read are logged, by their revisions: many of them must not fill the log.
static UNREADABLE: LogOnce<i64> = LogOnce::at_most(10, Duration::from_hours(1));

/// The event of an entry in place of a row that cannot be read.
const UNREADABLE_EVENT: &str = "audit_unreadable";

/// The row for clients. One that cannot be read is an entry that says so: it must not hide the others of its page, and a
/// page without it would look complete.
pub(super) fn presentable(checked: CheckedRow) -> AuditRow {
    let revision = checked.revision;
    let at = checked.at.filter(|at| (0..=END_OF_9999).contains(at));
    match checked.into_presentable() {
        Ok(row) => row,
        Err(problem) => {
            warn_unreadable(revision, &problem);
            AuditRow {
                revision,
                at: at.unwrap_or_default(),
                event: UNREADABLE_EVENT.to_owned(),
                details: json!({ "column": problem.column }).to_string(),
                ..AuditRow::default()
            }
        }
    }
}

/// Names a row that cannot be read in the log.
pub(in crate::accounts) fn warn_unreadable(revision: i64, problem: &UnreadableColumn) {
    if UNREADABLE.is_due(revision) {
        let problem = problem.to_string();
        tracing::warn!(
            revision,
            problem,
            "a row of the record cannot be read; run audit verify"
        );
    }
}
