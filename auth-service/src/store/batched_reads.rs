//! Concurrent reads of single users or API keys share statements: see [`rolegate_sql_store::BatchedReads`].

use super::{NAME, StoreError, UserStore};
use crate::{
    api_key::KeyBearer,
    user::{Credentials, User},
};
use rolegate_sql_store::Timed;
use std::sync::Arc;

/// Reads of single users and API keys. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads {
    users: rolegate_sql_store::BatchedReads<i64, User>,
    credentials: rolegate_sql_store::BatchedReads<String, Credentials>,
    keys: rolegate_sql_store::BatchedReads<String, KeyBearer>,
}

impl BatchedReads {
    /// Reads from this store.
    pub fn new(store: &Arc<dyn UserStore>) -> Self {
        let by_id = Arc::clone(store);
        let users = rolegate_sql_store::BatchedReads::new(
            NAME,
            "id",
            move |ids: Vec<i64>| {
                let store = Arc::clone(&by_id);
                async move { store.users_by_id(&ids).await }
            },
            |user: &User| user.id,
        );
        let by_username = Arc::clone(store);
        let credentials = rolegate_sql_store::BatchedReads::new(
            NAME,
            "username",
            move |usernames: Vec<String>| {
                let store = Arc::clone(&by_username);
                async move { store.credentials_by_username(&usernames).await }
            },
            |credentials: &Credentials| credentials.user.username.clone(),
        );
        let by_digest = Arc::clone(store);
        let keys = rolegate_sql_store::BatchedReads::new(
            NAME,
            "api_key",
            move |digests: Vec<String>| {
                let store = Arc::clone(&by_digest);
                async move { store.keys_by_digest(&digests).await }
            },
            |key: &KeyBearer| key.digest.clone(),
        );
        Self { users, credentials, keys }
    }

    /// The user with this id.
    pub async fn user(&self, id: i64) -> Result<Timed<Option<User>>, StoreError> {
        self.users.get(id).await
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
}
