//! The record in pages, for the commands of an operator.
//!
//! Each page is one statement, and nothing is open between two pages: who reads the output of a command may be slow,
//! and a transaction that waits for them would keep old rows, and let the log of SQLite grow.

use super::{AuditRow, Transfer, sql::audit::rows::AUDIT_COLUMNS};
use rolegate_sql_store::{Database, StoreError};
use sqlx::{ColumnIndex, Decode, Error, FromRow, Row, Type};
use std::fmt;

type JsonObject = serde_json::Map<String, serde_json::Value>;

/// The rows of a page.
pub(crate) const MAX_PAGE_ROWS: i64 = 1000;

/// The last second with a year of four digits, in Unix seconds.
pub(crate) const END_OF_9999: i64 = 253_402_300_799;

/// The column behind those of a row: the oldest seal, as of the same moment.
const OLDEST_SEAL: &str = "oldest_seal";

/// A row of the record, or why it cannot be read: whoever has access to the database can write anything into it. One
/// such row must not hide the others.
#[derive(Debug)]
pub(crate) struct CheckedRow {
    pub(crate) revision: i64,
    /// When it was written, in Unix seconds, if that can be read.
    pub(crate) at: Option<i64>,
    pub(crate) content: Result<AuditRow, UnreadableColumn>,
}

impl From<AuditRow> for CheckedRow {
    fn from(row: AuditRow) -> Self {
        Self {
            revision: row.revision,
            at: Some(row.at),
            content: Ok(row),
        }
    }
}

impl CheckedRow {
    /// The row, if clients can be told of it too: its time has a calendar date, and its details are a JSON object.
    pub(crate) fn into_presentable(self) -> Result<AuditRow, UnreadableColumn> {
        let row = self.content?;
        let problem = if !(0..=END_OF_9999).contains(&row.at) {
            ("at", "it is no time of the years 1970 to 9999".to_owned())
        } else if let Err(error) = serde_json::from_str::<JsonObject>(&row.details) {
            ("details", format!("it is no JSON object: {error}"))
        } else {
            return Ok(row);
        };
        let (column, problem) = problem;
        Err(UnreadableColumn {
            column: column.to_owned(),
            problem,
        })
    }
}

/// A column that does not have what its type says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnreadableColumn {
    pub(crate) column: String,
    pub(super) problem: String,
}

impl fmt::Display for UnreadableColumn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the column {} cannot be read: {}",
            self.column, self.problem
        )
    }
}

impl UnreadableColumn {
    /// Why a row with these columns was not decoded.
    pub(super) fn new(error: Error, columns: &str) -> Self {
        let Error::ColumnDecode { index, source } = error else {
            return Self {
                column: "of the row".to_owned(),
                problem: error.to_string(),
            };
        };
        // A row that is decoded by position names the position.
        let named = index
            .parse()
            .ok()
            .and_then(|position| columns.split(',').nth(position));
        Self {
            column: named
                .unwrap_or(&index)
                .trim_matches([' ', '\n', '"'])
                .to_owned(),
            problem: source.to_string(),
        }
    }
}

impl<'r, R: Row> FromRow<'r, R> for CheckedRow
where
    AuditRow: FromRow<'r, R>,
    (i64,): FromRow<'r, R>,
    (i64, i64, i64): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        // The primary key, which has no other type on either engine.
        let (revision,) = FromRow::from_row(row)?;
        let at = <(i64, i64, i64)>::from_row(row).map(|(_, _, at)| at);
        let content = AuditRow::from_row(row);
        Ok(Self {
            revision,
            at: at.ok(),
            content: content.map_err(|error| UnreadableColumn::new(error, AUDIT_COLUMNS)),
        })
    }
}

/// A row of a page, with the oldest seal at the moment of the page.
struct PageRow {
    checked: CheckedRow,
    oldest_seal: Option<i64>,
}

impl<'r, R: Row> FromRow<'r, R> for PageRow
where
    CheckedRow: FromRow<'r, R>,
    for<'c> &'c str: ColumnIndex<R>,
    Option<i64>: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self {
            checked: CheckedRow::from_row(row)?,
            oldest_seal: row.try_get(OLDEST_SEAL)?,
        })
    }
}

/// Reads the sealed rows by ascending revision, up to the last that was sealed when the reading began.
pub(crate) struct RecordPages {
    database: Database,
    /// The last revision that was read, or left out.
    position: i64,
    last: i64,
}

/// The next rows of the record.
#[derive(Debug)]
pub(crate) struct RecordPage {
    pub(crate) rows: Vec<CheckedRow>,
    /// What retention removed before this page was read.
    pub(crate) removed: Option<RemovedRevisions>,
}

/// Revisions that the record does not have any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemovedRevisions {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Transfer {
    /// The sealed rows, from the oldest to the one that is the newest now.
    pub(crate) async fn record_pages(&self) -> Result<RecordPages, StoreError> {
        let bounds = "SELECT min(revision), max(revision) FROM audit_seal";
        let bounds = self.database().statement(bounds);
        let bounds = self.database().read::<(Option<i64>, Option<i64>)>(bounds);
        let Some((Some(position), Some(last))) = bounds.await?.pop() else {
            return Err(StoreError::Failed(Error::RowNotFound.into()));
        };
        Ok(RecordPages {
            database: self.database().clone(),
            position,
            last,
        })
    }
}

impl RecordPages {
    /// The next page; `None` at the end. Rows that retention has removed since the last page are named in the next one.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordPage>, StoreError> {
        if self.position >= self.last {
            return Ok(None);
        }
        let select = self
            .database
            .statement("SELECT ")
            .push(AUDIT_COLUMNS)
            // In one statement with the rows, so that nothing is removed between the two.
            .push(", (SELECT min(revision) FROM audit_seal) AS oldest_seal")
            .push(" FROM audit WHERE revision > $1 AND revision <= $2 ORDER BY revision LIMIT $3")
            .bind(self.position)
            .bind(self.last)
            .bind(MAX_PAGE_ROWS);
        let found: Vec<PageRow> = self.database.read(select).await?;
        let oldest_seal = match found.first() {
            Some(first) => first.oldest_seal,
            None => self.oldest_seal().await?,
        };
        let removed = oldest_seal
            .filter(|oldest| *oldest > self.position)
            .map(|oldest| RemovedRevisions {
                first: self.position + 1,
                last: oldest.min(self.last),
            });
        let rows: Vec<_> = found.into_iter().map(|row| row.checked).collect();
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= MAX_PAGE_ROWS);
        self.position = match rows.last() {
            Some(row) if is_full => row.revision,
            _ => self.last,
        };
        Ok(Some(RecordPage { rows, removed }))
    }

    async fn oldest_seal(&self) -> Result<Option<i64>, StoreError> {
        let oldest = "SELECT min(revision) FROM audit_seal";
        let oldest = self.database.statement(oldest);
        let oldest = self.database.read::<(Option<i64>,)>(oldest).await?.pop();
        Ok(oldest.and_then(|(revision,)| revision))
    }
}
