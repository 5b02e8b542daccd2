//! Reads the record in pages.
//!
//! Each page is one statement, and no transaction is open between two pages. The reader of a command's output may be
//! slow. A transaction that waited for the reader would keep PostgreSQL from removing old row versions, and let the
//! write-ahead log of SQLite grow.

use super::OperatorDatabase;
use crate::{audit::AuditRow, store::checked_row::CheckedRow};
use rolegate_sql_store::{Database, StoreError, row};

/// The number of rows on a full page.
pub(crate) const MAX_PAGE_ROWS: i64 = 1000;

row! {
    /// The revisions of the oldest and the newest seal; `None` if there is no seal. All sealed rows come after the
    /// oldest seal, and the newest seal names the last of them.
    struct RevisionBounds {
        oldest: Option<i64>,
        newest: Option<i64>,
    }
}

row! {
    /// A row of a page, with the revision that the oldest seal had when the page was read.
    struct PageRow {
        ..checked: CheckedRow,
        oldest_seal: Option<i64>,
    }
}

/// Reads the sealed rows by ascending revision, up to the row that was the newest when the reading began.
pub(crate) struct RecordPages {
    database: Database,
    /// The last revision that was read or skipped.
    position: i64,
    last: i64,
}

/// A page of the record, and the revisions before it that retention has removed meanwhile.
#[derive(Debug)]
pub(crate) struct RecordPage {
    pub(crate) rows: Vec<CheckedRow>,
    /// The revisions after the previous page that retention removed before this page was read; `None` if it removed
    /// none.
    pub(crate) removed: Option<RemovedRevisions>,
}

/// A range of revisions that retention has removed from the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RemovedRevisions {
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl OperatorDatabase {
    /// Returns a reader of the sealed rows, from the oldest row to the one that is the newest now. Fails if the record
    /// has no seal.
    pub(crate) async fn record_pages(&self) -> Result<RecordPages, StoreError> {
        let select = self
            .database
            .statement("SELECT min(revision) AS oldest, max(revision) AS newest FROM audit_seal");
        let bounds: Option<RevisionBounds> = self.database.read_optional(select).await?;
        let Some(RevisionBounds {
            oldest: Some(oldest),
            newest: Some(newest),
        }) = bounds
        else {
            return Err(StoreError::row_not_found());
        };
        Ok(RecordPages {
            database: self.database.clone(),
            position: oldest,
            last: newest,
        })
    }
}

impl RecordPages {
    /// Returns the next page; `None` after the last page. If retention has removed rows since the previous page, this
    /// page names their revisions.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordPage>, StoreError> {
        if self.position >= self.last {
            return Ok(None);
        }
        let found = self.read_page().await?;
        let oldest_seal = match found.first() {
            Some(first) => first.oldest_seal,
            None => self.oldest_seal().await?,
        };
        let removed = oldest_seal.and_then(|oldest| self.removed_through(oldest));
        let rows: Vec<_> = found.into_iter().map(|row| row.checked).collect();
        let is_full = i64::try_from(rows.len()).is_ok_and(|count| count >= MAX_PAGE_ROWS);
        self.position = match rows.last() {
            Some(row) if is_full => row.revision,
            _ => self.last,
        };
        Ok(Some(RecordPage { rows, removed }))
    }

    async fn read_page(&self) -> Result<Vec<PageRow>, StoreError> {
        let select = self
            .database
            .statement("SELECT ")
            .push_columns::<AuditRow>()
            // The oldest seal is read in the same statement as the rows, so that retention cannot remove rows between
            // the two reads.
            .push(", (SELECT min(revision) FROM audit_seal) AS oldest_seal")
            .push(" FROM audit WHERE revision > $1 AND revision <= $2 ORDER BY revision LIMIT $3")
            .bind(self.position)
            .bind(self.last)
            .bind(MAX_PAGE_ROWS);
        self.database.read(select).await
    }

    async fn oldest_seal(&self) -> Result<Option<i64>, StoreError> {
        let select = self
            .database
            .statement("SELECT min(revision) FROM audit_seal");
        let oldest = self.database.read_optional(select).await?;
        Ok(oldest.flatten())
    }

    /// Returns the revisions after `position` that retention has removed, which are those up to the oldest seal; `None`
    /// if it has removed none.
    fn removed_through(&self, oldest_seal: i64) -> Option<RemovedRevisions> {
        if oldest_seal <= self.position {
            return None;
        }
        Some(RemovedRevisions {
            first: self.position + 1,
            last: oldest_seal.min(self.last),
        })
    }
}
