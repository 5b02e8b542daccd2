//! Writes the search keys of users.
//!
//! No other write sets them. A user whose key is missing, or belongs to a former name, is in a partial index, and gets
//! the key in the background or before the next list that reads keys. So users who are written by an older release,
//! which does not know the keys, get them in the same way.

use super::UserStore;
use crate::search_key::search_key;
use rolegate_sql_store::{StoreError, row};
use serde::Serialize;

/// The maximum number of keys that one statement writes.
const MAX_BATCH: usize = 1000;
/// The maximum number of statements that one call runs, which together take some tenths of a second.
const MAX_BATCHES: usize = 5;

row! {
    /// A user whose key is missing.
    struct UnindexedUser {
        id: i64,
        username: String,
    }
}

row! {
    /// A key that is to be written. It is serialized as a row for the statement.
    #[derive(Serialize)]
    struct KeyRow {
        user_id: i64,
        name: String,
        key: String,
    }
}

impl UserStore {
    /// Writes the search keys of a limited number of users who have none. Returns true if all users have keys now.
    pub(crate) async fn write_search_keys(&self) -> Result<bool, StoreError> {
        let mut last_id = 0;
        for _ in 0..MAX_BATCHES {
            let users = self.unindexed_users(last_id).await?;
            let Some(last) = users.last() else {
                return Ok(true);
            };
            last_id = last.id;
            self.write_keys(users).await?;
        }
        Ok(false)
    }

    /// Returns users after this id whose key is missing. No standby is asked, because the result only decides what is
    /// written.
    async fn unindexed_users(&self, last_id: i64) -> Result<Vec<UnindexedUser>, StoreError> {
        let select = self
            .database
            .statement(
                r#"SELECT id, username FROM "user" WHERE search_key_of IS DISTINCT FROM username AND id > $1
                ORDER BY id LIMIT $2"#,
            )
            .bind(last_id)
            .bind(i64::try_from(MAX_BATCH).unwrap_or(i64::MAX));
        self.database.read_hint(select).await
    }

    async fn write_keys(&self, users: Vec<UnindexedUser>) -> Result<(), StoreError> {
        let rows: Vec<KeyRow> = users
            .into_iter()
            .map(|user| KeyRow {
                user_id: user.id,
                key: search_key(&user.username),
                name: user.username,
            })
            .collect();
        // This is one statement, because a transaction would keep the rows locked for several round trips, and changes of
        // these users would wait. A user who was renamed meanwhile gets the key of the new name by a later statement, and
        // one whose key another replica has written meanwhile is left alone.
        let update = self
            .database
            .statement(r#"UPDATE "user" SET search_key = key, search_key_of = name"#)
            .push_rows(&rows)
            .push(" AND id = user_id AND username = name AND search_key_of IS DISTINCT FROM name RETURNING id");
        self.database.execute(update).await.map(drop)
    }
}
