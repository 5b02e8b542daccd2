//! Concurrent reads of single users share statements: see [`rolegate_sql_store::BatchedReads`].

use super::{NAME, StoreError, UserStore};
use crate::user::{Credentials, User};
use std::sync::Arc;

/// Reads of single users. Clones share their statements.
#[derive(Clone, Debug)]
pub struct BatchedReads {
    users: rolegate_sql_store::BatchedReads<i64, User>,
    credentials: rolegate_sql_store::BatchedReads<String, Credentials>,
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
        Self { users, credentials }
    }

    /// The user with this id.
    pub async fn user(&self, id: i64) -> Result<Option<User>, StoreError> {
        self.users.get(id).await
    }

    /// The user with this name, with the stored hash.
    pub async fn credentials(&self, username: String) -> Result<Option<Credentials>, StoreError> {
        self.credentials.get(username).await
    }
}
