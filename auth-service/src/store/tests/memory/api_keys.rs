use super::MemoryStore;
use crate::{
    api_key::{ApiKey, KeyBearer},
    store::{ApiKeyStore, NewApiKey, StoreError, WriteError, Writer},
};
use async_trait::async_trait;
use rolegate_proto::limits::MAX_API_KEYS;
use rolegate_sql_store::Timed;

#[async_trait]
impl ApiKeyStore for MemoryStore {
    async fn insert_key(&self, new: NewApiKey, writer: Writer) -> Result<ApiKey, WriteError> {
        let mut users = self.users()?;
        if std::mem::take(&mut users.revokes_before_key) {
            let now = users.now;
            users.find(None, new.user_id, true)?.user.revoke(now, None);
        }
        if !writer.may_add_key(&users.find(None, new.user_id, true)?.user) {
            return Err(WriteError::UserNotFound);
        }
        let of_user = users.keys.values().filter(|(_, key)| key.user_id == new.user_id);
        if of_user.count() >= MAX_API_KEYS {
            return Err(WriteError::ApiKeyLimit);
        }
        users.last_key_id += 1;
        let NewApiKey { user_id, name, prefix, digest, role, created_at, expires_at } = new;
        let (id, last_used_at) = (users.last_key_id, None);
        let key = ApiKey { id, user_id, name, prefix, role, created_at, expires_at, last_used_at };
        users.keys.insert(id, (digest, key.clone()));
        Ok(key)
    }

    async fn keys_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<KeyBearer>>, StoreError> {
        let users = self.users()?;
        let found = users.keys.values().filter(|(digest, _)| digests.contains(digest));
        let found = found
            .map(|(digest, key)| KeyBearer {
                digest: digest.clone(),
                key_id: key.id,
                role: key.role,
                expires_at: key.expires_at,
                user: users.by_id[&key.user_id].user.clone(),
            })
            .collect();
        Ok(Timed { at: users.now, value: found })
    }

    async fn keys_of_user(&self, user_id: i64) -> Result<Vec<ApiKey>, StoreError> {
        let users = self.users()?;
        let keys = users.keys.values().map(|(_, key)| key);
        Ok(keys.filter(|key| key.user_id == user_id).cloned().collect())
    }

    async fn delete_keys(
        &self,
        actor: Option<i64>,
        user_id: i64,
        key_id: Option<i64>,
    ) -> Result<Vec<ApiKey>, WriteError> {
        let mut users = self.users()?;
        if actor.is_some() {
            users.find(actor, user_id, true)?;
        }
        let is_meant =
            |key: &ApiKey| key.user_id == user_id && key_id.is_none_or(|id| id == key.id);
        let deleted = users.keys.extract_if(.., |_, (_, key)| is_meant(key));
        Ok(deleted.map(|(_, (_, key))| key).collect())
    }

    fn note_key_use(&self, key_id: i64, at: u64) {
        let Ok(mut users) = self.users() else { return };
        if let Some((_, key)) = users.keys.get_mut(&key_id) {
            key.last_used_at = key.last_used_at.max(Some(at));
        }
    }
}
