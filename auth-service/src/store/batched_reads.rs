//! Concurrent reads of single users or API keys share statements: see [`rolegate_sql_store::BatchedReads`].

use super::{NAME, StoreError, UserStore};
use crate::{
    api_key::KeyBearer,
    user::{Credentials, User},
};
use rolegate_sql_store::{BatchedReads as Reads, RowsByKey, Timed};
use std::sync::Arc;

/// Reads of users and API keys by their keys. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads {
    users: Reads<dyn UserStore, i64, User>,
    credentials: Reads<dyn UserStore, String, Credentials>,
    keys: Reads<dyn UserStore, String, KeyBearer>,
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

    /// The user with this id.
    pub async fn user(&self, id: i64) -> Result<Timed<Option<User>>, StoreError> {
        self.users.get(id).await
    }

    /// The users with these ids.
    pub async fn users(&self, ids: Vec<i64>) -> Result<RowsByKey<i64, User>, StoreError> {
        self.users.get_all(ids).await
    }

    /// The user with this name, with the stored hash.
    pub async fn credentials(
        &self,
        username: String,
    ) -> Result<Timed<Option<Credentials>>, StoreError> {
        self.credentials.get(username).await
    }

    /// The API key with this digest, with its user.
    pub async fn key(&self, digest: String) -> Result<Timed<Option<KeyBearer>>, StoreError> {
        self.keys.get(digest).await
    }

    /// The API keys with these digests.
    pub async fn keys(
        &self,
        digests: Vec<String>,
    ) -> Result<RowsByKey<String, KeyBearer>, StoreError> {
        self.keys.get_all(digests).await
    }
}
