//! Users in memory, for tests of the use cases.

mod api_keys;

use super::super::{
    ActorError, InsertError, NewUser, PasswordWriter, Revoker, StoreError, UserFilter, UserStore,
    require_admin,
};
use crate::{
    api_key::ApiKey,
    user::{Credentials, MAX_LEAD_SECONDS, MAX_STEP_SECONDS, REVOCATION_LEAD_SECONDS, User},
};
use async_trait::async_trait;
use rolegate_proto::Role;
use rolegate_sql_store::{StoreStatus, Timed};
use secrecy::{ExposeSecret, SecretString};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

/// Users in memory; passes the same conformance suite as the SQL stores.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore(Mutex<Users>);

#[derive(Debug, Default)]
struct Users {
    by_id: BTreeMap<i64, Credentials>,
    last_id: i64,
    /// With their digests.
    keys: BTreeMap<i64, (String, ApiKey)>,
    last_key_id: i64,
    is_down: bool,
    /// The clock of the database, in Unix seconds.
    now: u64,
}

impl MemoryStore {
    /// From now on every call fails with [`StoreError::TimedOut`], or succeeds again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().expect("not poisoned").is_down = is_down;
    }

    /// Sets the clock.
    pub(crate) fn set_time(&self, unix_seconds: u64) {
        self.0.lock().expect("not poisoned").now = unix_seconds;
    }

    /// Sets a time as a clock that was ahead would have stored it.
    pub(crate) fn set_tokens_not_before(&self, id: i64, unix_seconds: u64) {
        let mut users = self.0.lock().expect("not poisoned");
        users.by_id.get_mut(&id).expect("a user").user.tokens_not_before = unix_seconds;
    }

    fn users(&self) -> Result<MutexGuard<'_, Users>, StoreError> {
        let users = self.0.lock().expect("not poisoned");
        if users.is_down { Err(StoreError::TimedOut) } else { Ok(users) }
    }
}

impl User {
    /// As `GROW`, `REVOKE` and `LOWER` of the SQL store.
    fn revoke(&mut self, now: u64, by: Option<Revoker>) {
        let (soon, stored) = (now + REVOCATION_LEAD_SECONDS, self.tokens_not_before);
        let is_too_late = stored > now + MAX_LEAD_SECONDS + MAX_STEP_SECONDS;
        self.tokens_not_before = match by {
            _ if stored < soon => soon,
            Some(Revoker::Admin(_)) if is_too_late => stored,
            Some(Revoker::Operator) if is_too_late => {
                self.tokens_marked_until = (stored + 86400).max(self.tokens_marked_until + 1);
                soon
            }
            _ => stored + 1,
        };
    }
}

impl Users {
    /// The user to change, if there is one and the actor may change it.
    fn find(
        &self,
        actor: Option<i64>,
        id: i64,
        keeps_admin: bool,
    ) -> Result<Option<User>, ActorError> {
        let rows: Vec<User> = self.by_id.values().map(|row| row.user.clone()).collect();
        require_admin(&rows, actor, id, keeps_admin)
    }
}

#[async_trait]
impl UserStore for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.users().map(drop)
    }

    async fn insert(&self, actor: Option<i64>, new: NewUser) -> Result<User, InsertError> {
        let mut users = self.users()?;
        if let Some(id) = actor {
            users.find(actor, id, true).map_err(InsertError::Actor)?;
        }
        if users.by_id.values().any(|row| row.user.username == new.username) {
            return Err(InsertError::UsernameTaken);
        }
        users.last_id += 1;
        let id = users.last_id;
        let (username, role) = (new.username, new.role);
        let user = User {
            id,
            username,
            role,
            tokens_not_before: 0,
            disabled: false,
            tokens_marked_until: 0,
        };
        let row = Credentials { user: user.clone(), password_hash: new.password_hash };
        users.by_id.insert(id, row);
        Ok(user)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError> {
        let users = self.users()?;
        let found = users.by_id.values().filter(|row| ids.contains(&row.user.id));
        Ok(Timed { at: users.now, value: found.map(|row| row.user.clone()).collect() })
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let users = self.users()?;
        let found = users.by_id.values().filter(|row| usernames.contains(&row.user.username));
        Ok(Timed { at: users.now, value: found.cloned().collect() })
    }

    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        let users = self.users()?;
        let hashes = users.by_id.values().map(|row| row.password_hash.expose_secret());
        let ends = hashes.filter_map(|hash| hash.get(hash.len().checked_sub(60)?..));
        Ok(ends
            .filter(|end| end.starts_with("$2"))
            .filter_map(|hash| hash.get(4..6)?.parse().ok())
            .max())
    }

    async fn set_role(
        &self,
        actor: Option<i64>,
        id: i64,
        role: Role,
    ) -> Result<Option<User>, ActorError> {
        let mut users = self.users()?;
        users.find(actor, id, role == Role::Admin)?;
        Ok(users.by_id.get_mut(&id).map(|row| {
            row.user.role = role;
            row.user.clone()
        }))
    }

    async fn set_disabled(
        &self,
        actor: Option<i64>,
        id: i64,
        disabled: bool,
    ) -> Result<Option<User>, ActorError> {
        let mut users = self.users()?;
        users.find(actor, id, !disabled)?;
        let now = users.now;
        Ok(users.by_id.get_mut(&id).map(|row| {
            row.user.disabled = disabled;
            if disabled {
                row.user.revoke(now, Some(Revoker::Admin(0)));
            }
            row.user.clone()
        }))
    }

    async fn revoke_tokens(&self, by: Revoker, id: i64) -> Result<Option<User>, ActorError> {
        let mut users = self.users()?;
        let admin = if let Revoker::Admin(admin) = by { Some(admin) } else { None };
        users.find(admin, id, true)?;
        let now = users.now;
        let is_good = |row: &&mut Credentials| !matches!(by, Revoker::Bearer { issued } if issued < row.user.tokens_not_before);
        Ok(users.by_id.get_mut(&id).filter(is_good).map(|row| {
            row.user.revoke(now, Some(by));
            row.user.clone()
        }))
    }

    async fn delete(&self, actor: Option<i64>, id: i64) -> Result<Option<User>, ActorError> {
        let mut users = self.users()?;
        users.find(actor, id, false)?;
        users.keys.retain(|_, (_, key)| key.user_id != id);
        Ok(users.by_id.remove(&id).map(|row| row.user))
    }

    async fn set_password(
        &self,
        id: i64,
        hash: SecretString,
        writer: PasswordWriter,
    ) -> Result<Option<User>, StoreError> {
        let mut users = self.users()?;
        if users.find(writer.admin(), id, true).is_err() {
            return Ok(None);
        }
        let now = users.now;
        let row = users.by_id.get_mut(&id);
        let is_unchanged = |row: &&mut Credentials| {
            writer.seen().is_none_or(|seen| seen == row.user.tokens_not_before)
        };
        Ok(row.filter(is_unchanged).map(|row| {
            row.password_hash = hash;
            row.user.revoke(now, None);
            row.user.clone()
        }))
    }

    async fn replace_password(
        &self,
        id: i64,
        old: &SecretString,
        new: SecretString,
    ) -> Result<bool, StoreError> {
        let mut users = self.users()?;
        let is_old =
            |row: &&mut Credentials| row.password_hash.expose_secret() == old.expose_secret();
        let row = users.by_id.get_mut(&id).filter(is_old);
        Ok(row.map(|row| row.password_hash = new).is_some())
    }

    async fn list(&self, filter: &UserFilter) -> Result<Vec<User>, StoreError> {
        let users = self.users()?;
        let all = users.by_id.values().map(|row| &row.user);
        let found = all.filter(|user| {
            user.id > filter.after
                && user.username.starts_with(&filter.username_prefix)
                && filter.role.is_none_or(|role| role == user.role)
                && !(filter.is_enabled && user.disabled)
        });
        let limit = usize::try_from(filter.limit).unwrap_or(0);
        Ok(found.take(limit).cloned().collect())
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    async fn close(&self) {
        self.set_down(true);
    }
}
