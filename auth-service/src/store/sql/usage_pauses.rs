//! Statements about usage pauses: times during which no process could store uses.

use super::encoding::{decode_seconds, encode_seconds};
use crate::store::{MAX_PAUSE_AHEAD, UsagePause};
use rolegate_sql_store::{Database, Row, Statement, StoreError, TableRow};

/// How long a pause is kept, in seconds: the longest possible `SESSION_IDLE_SECONDS`.
const PAUSE_TTL: i64 = 31_536_000;

/// The maximum number of pauses that count. These are the latest ones.
const MAX_PAUSES: i64 = 1000;

impl TableRow for UsagePause {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            began: decode_seconds(row.get("began")?)?,
            ended: decode_seconds(row.get("ended")?)?,
        })
    }
}

/// Reads the pauses that are over, at most the latest [`MAX_PAUSES`]. A row with a negative time is not a pause.
pub(super) async fn read_pauses(database: &Database) -> Result<Vec<UsagePause>, StoreError> {
    let select = database
        .statement(
            "SELECT began, ended FROM usage_pause WHERE began >= 0 AND ended >= 0
            ORDER BY ended DESC LIMIT ",
        )
        .push_bind(MAX_PAUSES);
    database.read(select).await
}

/// Returns the statements that record a pause which ends now. They replace the pauses within it, which other processes
/// have recorded.
pub(super) fn record_pause(database: &Database, began: u64) -> [Statement; 2] {
    let began = encode_seconds(began);
    let forget = database
        .statement("DELETE FROM usage_pause WHERE began >= $1 AND ended <= ")
        .bind(began)
        .push_now();
    let insert = database
        .statement("INSERT INTO usage_pause (began, ended) SELECT $1, now FROM (SELECT ")
        .bind(began)
        .push_now()
        .push(" AS now) AS clock WHERE now > $1");
    [forget, insert]
}

/// Returns the statement that deletes pauses which do not count: those that are too old, and those from a clock that
/// was ahead.
pub(super) fn forget_pauses(database: &Database) -> Statement {
    database
        .statement("DELETE FROM usage_pause WHERE ended < ")
        .push_now()
        .push(" - ")
        .push_bind(PAUSE_TTL)
        .push(" OR ended > ")
        .push_now()
        .push(" + ")
        .push_bind(encode_seconds(MAX_PAUSE_AHEAD))
}
