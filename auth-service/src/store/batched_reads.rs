//! Merges concurrent reads of single users and opaque tokens into shared statements: see
//! [`rolegate_sql_store::BatchedReads`].

use super::{NAME, UserStore};
use crate::{
    tokens::TokenBearer,
    user::{Credentials, User},
};
use rolegate_sql_store::{BatchLabels, BatchedReads as Reads};
use std::sync::Arc;

pub(crate) struct BatchedReads {
    /// Reads users by id.
    pub(crate) users: Reads<UserStore, i64, User>,
    /// Reads users by name, each with the stored password hash.
    pub(crate) credentials: Reads<UserStore, String, Credentials>,
    /// Reads API keys and sessions by digest, each with its user.
    pub(crate) tokens: Reads<UserStore, String, TokenBearer>,
}

impl BatchedReads {
    pub(crate) fn new(store: &Arc<UserStore>) -> Self {
        let labels = |key| BatchLabels { store: NAME, key };
        Self {
            users: Reads::new(
                labels("id"),
                store,
                |store, ids| Box::pin(store.users_by_id(ids)),
                |user| user.id,
            ),
            credentials: Reads::new(
                labels("username"),
                store,
                |store, usernames| Box::pin(store.credentials_by_username(usernames)),
                |found| found.user.username.clone(),
            ),
            tokens: Reads::new(
                labels("api_key"),
                store,
                |store, digests| Box::pin(store.tokens_by_digest(digests)),
                |token| token.digest.clone(),
            ),
        }
    }
}
