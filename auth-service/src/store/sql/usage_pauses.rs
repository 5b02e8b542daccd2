//! Statements about pauses: times during which no process could write what was used.

use super::encoding::encode_seconds;
use crate::store::{MAX_PAUSE_AHEAD, UsagePause};
use rolegate_sql_store::{Database, Statement, StoreError};

/// How long a pause is kept, in seconds: the longest `SESSION_IDLE_SECONDS`.
const PAUSE_TTL: i64 = 31_536_000;

/// How many pauses count at most: the latest.
const MAX_PAUSES: i64 = 1000;

rolegate_sql_store::row! {
    struct PauseRow {
        began: i64,
        ended: i64,
    }
}

/// Reads the pauses that are over, of which the latest count.
pub(super) async fn read_pauses(database: &Database) -> Result<Vec<UsagePause>, StoreError> {
    let select = database
        .statement("SELECT began, ended FROM usage_pause ORDER BY ended DESC LIMIT ")
        .push_bind(MAX_PAUSES);
    let rows: Vec<PauseRow> = database.read(select).await?;
    let mut pauses = Vec::with_capacity(rows.len());
    for row in rows {
        // Negative times are those of no pause.
        if let (Ok(began), Ok(ended)) = (row.began.try_into(), row.ended.try_into()) {
            pauses.push(UsagePause { began, ended });
        }
    }
    Ok(pauses)
}

/// Records a pause that ends now, in place of those within it, which other processes recorded.
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

/// Forgets pauses that do not count: those that are too old, and those of a clock that was ahead.
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
