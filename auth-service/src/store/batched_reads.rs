//! Concurrent reads of single users or API keys share statements: see [`rolegate_sql_store::BatchedReads`].

use super::{NAME, UserStore};
use crate::{
    api_key::KeyBearer,
    user::{Credentials, User},
};
use rolegate_sql_store::BatchedReads as Reads;
use std::sync::Arc;

/// Reads of users and API keys by their keys. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads {
    /// Users by id.
    pub users: Reads<dyn UserStore, i64, User>,
    /// Users by name, with the stored hash.
    pub credentials: Reads<dyn UserStore, String, Credentials>,
    /// API keys by digest, each with its user.
    pub keys: Reads<dyn UserStore, String, KeyBearer>,
}

impl BatchedReads {
    /// Reads from this store.
    pub fn new(store: &Arc<dyn UserStore>) -> Self {
        let users = Reads::new(
            (NAME, "id"),
            store,
            |store, ids| store.users_by_id(ids),
            |user: &User| user.id,
        );
        let credentials = Reads::new(
            (NAME, "username"),
            store,
            |store, usernames| store.credentials_by_username(usernames),
            |found: &Credentials| found.user.username.clone(),
        );
        let keys = Reads::new(
            (NAME, "api_key"),
            store,
            |store, digests| store.keys_by_digest(digests),
            |key: &KeyBearer| key.digest.clone(),
        );
        Self { users, credentials, keys }
    }
}
