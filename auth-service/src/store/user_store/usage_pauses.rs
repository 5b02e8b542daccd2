//! Statements about usage pauses, which are periods during which no process could store uses.

use super::encoding::encode_seconds;
use crate::store::{MAX_PAUSE_AHEAD, UsagePause};
use rolegate_sql_store::{Database, Row, Statement, StoreError, TableRow};

/// The time for which a pause is kept, in seconds. It is the maximum of the setting `SESSION_IDLE_SECONDS`. So an older
/// pause cannot affect a session, unless later pauses have prolonged that time.
const PAUSE_TTL: i64 = 31_536_000;

/// The maximum number of pauses that are read. Only the latest ones count.
const MAX_PAUSES: i64 = 1000;

impl TableRow for UsagePause {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            began: row.seconds("began")?,
            ended: row.seconds("ended")?,
        })
    }
}

/// Returns the pauses that are over, the latest first and at most [`MAX_PAUSES`]. Skips rows with a negative time,
/// which no clock can have stored.
pub(super) async fn read_pauses(database: &Database) -> Result<Vec<UsagePause>, StoreError> {
    let select = database
        .statement(
            "SELECT began, ended FROM usage_pause WHERE began >= 0 AND ended >= 0
            ORDER BY ended DESC LIMIT $1",
        )
        .bind(MAX_PAUSES);
    database.read(select).await
}

/// Returns the statements that store a pause from `began` until now. They also delete the pauses within that period,
/// which this or other processes have stored before.
pub(super) fn record_pause(database: &Database, began: u64) -> [Statement; 2] {
    let statements = [
        "DELETE FROM usage_pause WHERE began >= $1 AND ended <= $NOW",
        "INSERT INTO usage_pause (began, ended) SELECT $1, now
            FROM (SELECT $NOW AS now) AS clock WHERE now > $1",
    ];
    statements.map(|sql| database.statement(sql).bind(encode_seconds(began)))
}

/// Returns the statement that deletes the pauses that are too old to count, and those from a clock that was ahead.
pub(super) fn forget_pauses(database: &Database) -> Statement {
    database
        .statement("DELETE FROM usage_pause WHERE ended < $NOW - $1 OR ended > $NOW + $2")
        .bind(PAUSE_TTL)
        .bind(encode_seconds(MAX_PAUSE_AHEAD))
}
