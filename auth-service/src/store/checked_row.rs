//! Rows of the record that may be unreadable, because anyone with access to the database can write any value into it.

use crate::audit::AuditRow;
use rolegate_proto::time::END_OF_9999;
use rolegate_sql_store::{Row, TableRow};
use sqlx::Error;

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// A row of the record, or the reason why it cannot be read. The error is kept per row, so that one unreadable row does
/// not hide the others.
#[derive(Debug)]
pub(crate) struct CheckedRow {
    pub(crate) revision: i64,
    /// The time at which the row was written, in Unix seconds; `None` if the time cannot be read.
    pub(crate) at: Option<i64>,
    pub(crate) content: Result<AuditRow, UnreadableColumn>,
}

impl CheckedRow {
    /// Returns the row if its time is in the years 1970 to 9999 and its details are a JSON object, because clients
    /// cannot represent other values. Otherwise returns the column that is the reason.
    pub(crate) fn into_presentable(self) -> Result<AuditRow, UnreadableColumn> {
        let row = self.content?;
        if !(0..=END_OF_9999).contains(&row.at) {
            return Err(UnreadableColumn {
                column: "at".to_owned(),
                problem: "it is not a time in the years 1970 to 9999".to_owned(),
            });
        }
        if let Err(error) = serde_json::from_str::<JsonObject>(&row.details) {
            return Err(UnreadableColumn {
                column: "details".to_owned(),
                problem: format!("it is not a JSON object: {error}"),
            });
        }
        Ok(row)
    }
}

impl TableRow for CheckedRow {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        // The id comes before the time in a row. If the id cannot be read, the time is not trusted either.
        let at = row.get::<i64>("id").and_then(|_| row.get("at"));
        Ok(Self {
            // The revision is the primary key, and neither engine lets it have another type.
            revision: row.get("revision")?,
            at: at.ok(),
            content: AuditRow::from_row(row).map_err(UnreadableColumn::from),
        })
    }
}

/// A column whose value cannot be used, and the reason.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the column {column} cannot be read: {problem}")]
pub(crate) struct UnreadableColumn {
    pub(crate) column: String,
    pub(super) problem: String,
}

impl From<Error> for UnreadableColumn {
    fn from(error: Error) -> Self {
        match error {
            Error::ColumnDecode { index, source } => Self {
                // sqlx puts the name of a column in quotes if it has looked the column up by name.
                column: index.trim_matches('"').to_owned(),
                problem: source.to_string(),
            },
            error => Self {
                column: "of the row".to_owned(),
                problem: error.to_string(),
            },
        }
    }
}
