//! Concurrent look-ups of single users share one statement.
//!
//! Fresh by the rule of [`group_commit`]: a look-up joins only a statement that has not been sent,
//! so what it returns was read after it was asked for.

use super::{StoreError, UserStore};
use crate::user::{Credentials, User};
use group_commit::{GroupCommit, Limits};
use std::{collections::HashMap, hash::Hash, num::NonZero, sync::Arc, time::Duration};

/// Enough for every caller of a busy replica; the database reads that many rows by key in less than
/// a millisecond.
const BATCH: NonZero<usize> = NonZero::new(512).expect("not zero");
/// One statement under way makes the largest batches, which cost the database least for each row.
const IN_FLIGHT: NonZero<usize> = NonZero::new(1).expect("not zero");
/// A statement that takes this long holds the others up no longer.
const PATIENCE: Duration = Duration::from_millis(20);
const MOST_IN_FLIGHT: NonZero<usize> = NonZero::new(4).expect("not zero");

/// Look-ups of single users. Clones share their statements.
#[derive(Clone, Debug)]
pub struct SharedReads {
    users: GroupCommit<i64, Result<Option<User>, StoreError>>,
    credentials: GroupCommit<String, Result<Option<Credentials>, StoreError>>,
}

impl SharedReads {
    /// Look-ups in this store.
    pub fn new(store: &Arc<dyn UserStore>) -> Self {
        let limits = Limits {
            batch: BATCH,
            in_flight: IN_FLIGHT,
            patience: PATIENCE,
            most_in_flight: MOST_IN_FLIGHT,
        };
        let by_id = Arc::clone(store);
        let users = GroupCommit::new(limits, move |ids: Vec<i64>| {
            let store = Arc::clone(&by_id);
            async move {
                let found = store.users_by_id(&distinct(&ids)).await;
                in_order(&ids, found, |user| user.id)
            }
        });
        let by_username = Arc::clone(store);
        let credentials = GroupCommit::new(limits, move |usernames: Vec<String>| {
            let store = Arc::clone(&by_username);
            async move {
                let found = store.credentials_by_username(&distinct(&usernames)).await;
                in_order(&usernames, found, |credentials| credentials.user.username.clone())
            }
        });
        Self { users, credentials }
    }

    /// The user with this id.
    pub async fn user(&self, id: i64) -> Result<Option<User>, StoreError> {
        self.users.submit(id).await?
    }

    /// The user with this name, with the stored hash.
    pub async fn credentials(&self, username: String) -> Result<Option<Credentials>, StoreError> {
        self.credentials.submit(username).await?
    }
}

/// Many callers may ask for the same user; the database is asked once.
fn distinct<K: Ord + Clone>(keys: &[K]) -> Vec<K> {
    let mut keys = keys.to_vec();
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// An answer for each key, in the order of the keys.
fn in_order<K: Eq + Hash + Clone, R: Clone>(
    keys: &[K],
    found: Result<Vec<R>, StoreError>,
    key_of: impl Fn(&R) -> K,
) -> Vec<Result<Option<R>, StoreError>> {
    match found {
        Ok(rows) => {
            let rows: HashMap<K, R> = rows.into_iter().map(|row| (key_of(&row), row)).collect();
            keys.iter().map(|key| Ok(rows.get(key).cloned())).collect()
        }
        Err(error) => vec![Err(error); keys.len()],
    }
}
