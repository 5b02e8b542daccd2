//! Counts what was added to a user in an SQL database, by the rows of the record: so all replicas count together,
//! and a restart forgets nothing.

use super::SqlStore;
use crate::store::{
    StoreError,
    additions::{ADDITION_SECONDS, Additions, MAX_ADDITIONS},
};
use rolegate_sql_store::Statement;
use sqlx::{FromRow, Row};

/// Rows of a user that are read at most. Fewer of them are no additions in a minute.
const MAX_ROWS: i64 = 500;

/// Their events.
const ADDITIONS: &str = " event IN ('api_key_created', 'session_created', 'second_factor_begun')";

/// Continues a statement by the rows of what was added to a user lately, as `addition (at, now)`. One in the future
/// is by a clock that was ahead.
fn from_additions(statement: Statement, user_id: i64) -> Statement {
    statement
        .push(
            " FROM (SELECT at, now FROM (
                SELECT at FROM (
                    SELECT event, at FROM audit WHERE user_id = ",
        )
        .push_bind(user_id)
        .push(" ORDER BY revision DESC LIMIT ")
        .push_bind(MAX_ROWS)
        .push(") AS sealed WHERE")
        .push(ADDITIONS)
        .push(" UNION ALL SELECT at FROM audit_pending WHERE user_id = ")
        .push_bind(user_id)
        .push(" AND")
        .push(ADDITIONS)
        .push(") AS added, (SELECT ")
        .push_now()
        .push(" AS now) AS clock WHERE at <= now AND at > now - ")
        .push_bind(ADDITION_SECONDS)
        .push(") AS addition")
}

/// Continues a statement by the condition that there is room for another addition to this user. It holds only
/// behind a lock of the user.
pub(super) fn has_room(statement: Statement, user_id: i64) -> Statement {
    from_additions(statement.push("(SELECT count(*)"), user_id)
        .push(") < ")
        .push_bind(MAX_ADDITIONS)
}

impl SqlStore {
    /// What was added to this user lately, to say why a write with [`has_room`] wrote nothing.
    pub(super) async fn additions(&self, user_id: i64) -> Result<Additions, StoreError> {
        let select = "SELECT count(*), max(now) - min(at)";
        let select = from_additions(self.database.statement(select), user_id);
        let additions = self.database.read::<Additions>(select).await?.pop();
        Ok(additions.unwrap_or(Additions {
            count: 0,
            age_of_first: None,
        }))
    }
}

/// Their number, and the age of the first.
type Columns = (i64, Option<i64>);

impl<'r, R: Row> FromRow<'r, R> for Additions
where
    Columns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (count, age_of_first) = Columns::from_row(row)?;
        Ok(Self {
            count,
            age_of_first,
        })
    }
}
