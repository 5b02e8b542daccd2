//! The part of the store about API keys.

use super::{StoreError, WriteError, Writer};
use crate::api_key::{ApiKey, KeyBearer};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{Store, Timed};

/// A key to insert; the database assigns the id.
#[derive(Clone, Debug)]
pub struct NewApiKey {
    /// The user who acts by it.
    pub user_id: i64,
    /// Validated.
    pub name: String,
    /// The first characters of the key.
    pub prefix: String,
    /// The digest of the key.
    pub digest: String,
    /// The highest role that it grants; `None` for the user's.
    pub role: Option<Role>,
    /// In Unix seconds.
    pub created_at: u64,
    /// In Unix seconds; `None` for never.
    pub expires_at: Option<u64>,
}

/// A database of API keys, each of one user.
#[async_trait]
pub trait ApiKeyStore: Store {
    /// Inserts a key of a user who is not disabled, if the condition of `writer` holds: otherwise a key
    /// could be made with a stolen token after the logout that was to end it.
    async fn insert_key(&self, key: NewApiKey, writer: Writer) -> Result<ApiKey, WriteError>;

    /// The keys with these digests, each with its user, read at once; in any order, without unknown
    /// digests.
    async fn keys_by_digest(&self, digests: &[String])
    -> Result<Timed<Vec<KeyBearer>>, StoreError>;

    /// The keys of a user by ascending id.
    async fn keys_of_user(&self, user_id: i64) -> Result<Vec<ApiKey>, StoreError>;

    /// Deletes and returns the key of the user with this id, or without one all of them, by ascending
    /// id, if `actor` is an admin, or without an actor: for the user themselves.
    async fn delete_keys(
        &self,
        actor: Option<i64>,
        user_id: i64,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, WriteError>;

    /// Notes that a key was used, at this time in Unix seconds. Does not wait: `last_used_at` of all keys
    /// is written together once a minute, and by `close`. It never decreases.
    fn note_key_use(&self, key_id: i64, at: u64);
}
