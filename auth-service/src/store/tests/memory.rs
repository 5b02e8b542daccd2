//! A store of users in memory, for tests of the use cases. A test can also make its calls fail or stall, and set its
//! clock.

mod audit;
mod changes;
mod opaque_tokens;
mod second_factor;

use super::super::{
    RoleUsage, StoreError, UsageKind, UsagePause, UserFilter, UserStore, WriteError,
    additions::{ADDITION_SECONDS, Additions},
    locked_rows::{AdminCount, require_admin},
};
use crate::{
    audit::{Entry, Requested},
    change::Change,
    opaque_token::{OpaqueToken, TokenKind},
    principal::Principal,
    user::{
        Credentials, ListedUser, MAX_CLOCK_SETBACK_SECONDS, MAX_ISSUE_AHEAD_SECONDS,
        REVOCATION_AHEAD_SECONDS, User,
    },
};
use async_trait::async_trait;
use rolegate_sql_store::{Store, StoreStatus, Timed};
use secrecy::{ExposeSecret, SecretString};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, Mutex, MutexGuard},
};

/// A store of users in memory. It passes the same conformance suite as the SQL stores.
#[derive(Debug, Default)]
pub(crate) struct MemoryStore(Mutex<Users>);

#[derive(Debug, Default)]
struct Users {
    by_id: BTreeMap<i64, Credentials>,
    last_id: i64,
    /// The time of each user's last login, in Unix seconds by user id.
    logins: BTreeMap<i64, u64>,
    /// The tokens by id, each with its digest.
    tokens: BTreeMap<i64, (String, OpaqueToken)>,
    last_token_id: i64,
    is_down: bool,
    is_read_only: bool,
    /// The name of the call that fails.
    failing: Option<&'static str>,
    /// The revision of the row that cannot be read.
    unreadable: Option<i64>,
    /// The number of calls that removed old rows.
    removals: usize,
    /// The name of the call that never ends.
    stalled: Option<&'static str>,
    /// The times of the last uses that could not be written, in Unix seconds.
    noted: BTreeMap<(UsageKind, i64), u64>,
    unwritten_since: Option<u64>,
    usage_pauses: Vec<UsagePause>,
    revokes_before_token: bool,
    /// The clock of the database, in Unix seconds.
    now: u64,
    /// All entries of the record; the first `sealed` ones are sealed.
    record: Vec<Entry>,
    sealed: usize,
    /// The revision up to which retention has removed rows.
    removed: i64,
    /// The user id and the time of each addition.
    additions: Vec<(i64, u64)>,
    factors: second_factor::Factors,
}

impl MemoryStore {
    /// Makes every call fail with [`StoreError::TimedOut`] from now on, or succeed again.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.0.lock().expect("not poisoned").is_down = is_down;
    }

    /// Removes the rows up to this revision, as retention does.
    pub(crate) fn remove_through(&self, revision: i64) {
        self.0.lock().expect("not poisoned").removed = revision;
    }

    /// Makes this call of the record fail from now on.
    pub(crate) fn set_failing(&self, call: &'static str) {
        self.0.lock().expect("not poisoned").failing = Some(call);
    }

    /// Makes the row of this revision unreadable from now on.
    pub(crate) fn damage(&self, revision: i64) {
        self.0.lock().expect("not poisoned").unreadable = Some(revision);
    }

    /// Makes snapshots wait forever from now on, as they do while the record is locked.
    pub(crate) fn stall_snapshots(&self) {
        self.0.lock().expect("not poisoned").stalled = Some("snapshot");
    }

    /// Makes restrictions of sessions to cookies wait forever from now on, as they do while the table is locked.
    pub(crate) fn stall_restrictions(&self) {
        self.0.lock().expect("not poisoned").stalled = Some("restrict_to_cookies");
    }

    /// Makes a session valid as a bearer token, as the previous release did when it created one.
    pub(crate) fn lift_restriction(&self, session_id: i64) {
        let mut users = self.0.lock().expect("not poisoned");
        let session = users.tokens.get_mut(&session_id).expect("a session");
        session.1.cookie_only = false;
    }

    /// Returns the number of calls that removed old rows.
    pub(crate) fn removals(&self) -> usize {
        self.0.lock().expect("not poisoned").removals
    }

    /// Stores an addition to this user at the present time of the store.
    pub(crate) fn add_to(&self, user_id: i64) {
        let mut users = self.0.lock().expect("not poisoned");
        let now = users.now;
        users.additions.push((user_id, now));
    }

    /// Returns the number of stored additions, whether or not they still count.
    pub(crate) fn additions_kept(&self) -> usize {
        self.0.lock().expect("not poisoned").additions.len()
    }

    /// Makes the store read-only or writable. While it is read-only, uses of tokens are not written, and idle sessions
    /// cannot be deleted.
    pub(crate) fn set_read_only(&self, is_read_only: bool) {
        let mut users = self.0.lock().expect("not poisoned");
        users.is_read_only = is_read_only;
        if !is_read_only {
            let ended = users.now;
            if let Some(began) = users.unwritten_since.take() {
                users.usage_pauses.push(UsagePause { began, ended });
            }
            for ((kind, id), at) in mem::take(&mut users.noted) {
                users.write_use(kind, id, at);
            }
        }
    }

    /// Revokes the tokens of a user just before the next opaque token of that user is inserted.
    pub(crate) fn revoke_before_next_token(&self) {
        self.0.lock().expect("not poisoned").revokes_before_token = true;
    }

    /// Sets the clock of the store.
    pub(crate) fn set_time(&self, unix_seconds: u64) {
        self.0.lock().expect("not poisoned").now = unix_seconds;
    }

    /// Sets `tokens_not_before` to a time that only a clock that was ahead could have stored.
    pub(crate) fn set_tokens_not_before(&self, id: i64, unix_seconds: u64) {
        let mut users = self.0.lock().expect("not poisoned");
        users
            .by_id
            .get_mut(&id)
            .expect("a user")
            .user
            .tokens_not_before = unix_seconds;
    }

    fn users(&self) -> Result<MutexGuard<'_, Users>, StoreError> {
        let users = self.0.lock().expect("not poisoned");
        if users.is_down {
            Err(StoreError::TimedOut)
        } else {
            Ok(users)
        }
    }

    fn users_unless_failing(
        &self,
        call: &'static str,
    ) -> Result<MutexGuard<'_, Users>, StoreError> {
        let users = self.users()?;
        if users.failing == Some(call) {
            Err(StoreError::TimedOut)
        } else {
            Ok(users)
        }
    }
}

/// Says what becomes of `tokens_not_before`, as `GROW`, `REVOKE` and `LOWER` of the SQL store do.
#[derive(Clone, Copy, Debug)]
enum Revocation {
    Grow,
    Revoke,
    Lower,
}

impl User {
    fn revoke(&mut self, now: u64, revocation: Revocation) {
        let soon = now + REVOCATION_AHEAD_SECONDS;
        let stored = self.tokens_not_before;
        let is_too_late = stored > now + MAX_ISSUE_AHEAD_SECONDS + MAX_CLOCK_SETBACK_SECONDS;
        self.tokens_not_before = match revocation {
            _ if stored < soon => soon,
            Revocation::Revoke if is_too_late => stored,
            Revocation::Lower if is_too_late => {
                self.tokens_marked_until = (stored + 86400).max(self.tokens_marked_until + 1);
                soon
            }
            _ => stored + 1,
        };
    }
}

impl Users {
    /// Fails if `added` more additions to this user would exceed the limit.
    fn check_additions(&self, id: i64, added: usize) -> Result<(), WriteError> {
        let now = self.now;
        let seconds = ADDITION_SECONDS.unsigned_abs();
        let is_recent = |at: u64| at <= now && at.saturating_add(seconds) > now;
        let recent = self
            .additions
            .iter()
            .filter(|(user, at)| *user == id && is_recent(*at));
        let recent: Vec<u64> = recent.map(|(_, at)| *at).collect();
        let first = recent.iter().min();
        let additions = Additions {
            count: i64::try_from(recent.len()).expect("few"),
            age_of_first: first.map(|at| i64::try_from(now - at).expect("small")),
        };
        additions.check(added)
    }

    /// Returns the user to change, if the user exists and an admin who makes the change may do so.
    fn find(
        &mut self,
        by: &Principal,
        id: i64,
        admin_count: AdminCount,
    ) -> Result<&mut Credentials, WriteError> {
        let rows: Vec<User> = self.by_id.values().map(|row| row.user.clone()).collect();
        require_admin(&rows, by.admin_id(), id, admin_count)?;
        self.by_id.get_mut(&id).ok_or(WriteError::UserNotFound)
    }

    /// Returns whether the session by which the owner acts has ended.
    fn has_session_ended(&self, by: &Principal) -> bool {
        by.session_id()
            .is_some_and(|session| !self.tokens.contains_key(&session))
    }

    fn write_use(&mut self, kind: UsageKind, id: i64, at: u64) {
        let last = match kind {
            UsageKind::Token => match self.tokens.get_mut(&id) {
                Some((_, token)) => token.last_used_at.get_or_insert(at),
                None => return,
            },
            UsageKind::Password => self.logins.entry(id).or_insert(at),
        };
        *last = (*last).max(at);
    }

    /// Ends the sessions of the user as the SQL store does: `except` and the other session of its sign-in stay.
    fn end_sessions(&mut self, user_id: i64, except: Option<i64>) {
        let pair_id = self.pair_of(user_id, except);
        let not_before = self.by_id[&user_id].user.tokens_not_before;
        self.tokens.retain(|id, (_, token)| {
            if token.user_id != user_id || token.kind() != TokenKind::Session {
                return true;
            }
            token.not_before = Some(not_before);
            Some(*id) == except || (pair_id.is_some() && token.pair_id == pair_id)
        });
    }

    fn pair_of(&self, user_id: i64, token_id: Option<i64>) -> Option<i64> {
        let (_, token) = self.tokens.get(&token_id?)?;
        token.pair_id.filter(|_| token.user_id == user_id)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.users().map(drop)
    }

    fn status(&self) -> StoreStatus {
        StoreStatus::default()
    }

    async fn close(&self) {
        self.set_down(true);
    }
}

#[async_trait]
impl UserStore for MemoryStore {
    async fn change_user(&self, request: Arc<Requested<Change>>) -> Result<User, WriteError> {
        let mut users = self.users()?;
        let user = users.change(&request.by, &request.change)?;
        users.record.extend(request.entries(&user));
        Ok(user)
    }

    async fn users_by_id(&self, ids: &[i64]) -> Result<Timed<Vec<User>>, StoreError> {
        let users = self.users()?;
        let found = users
            .by_id
            .values()
            .filter(|row| ids.contains(&row.user.id));
        Ok(Timed {
            at: users.now,
            value: found.map(|row| row.user.clone()).collect(),
        })
    }

    async fn credentials_by_username(
        &self,
        usernames: &[String],
    ) -> Result<Timed<Vec<Credentials>>, StoreError> {
        let users = self.users()?;
        let found = users
            .by_id
            .values()
            .filter(|row| usernames.contains(&row.user.username));
        Ok(Timed {
            at: users.now,
            value: found.cloned().collect(),
        })
    }

    async fn roles_in_use(&self) -> Result<Vec<RoleUsage>, StoreError> {
        let users = self.users()?;
        let mut in_use = Vec::new();
        for row in users.by_id.values() {
            in_use.push(RoleUsage {
                role: row.user.role.to_string(),
                users: 1,
                api_keys: 0,
            });
        }
        for (_, token) in users.tokens.values() {
            if let Some(role) = token.role {
                in_use.push(RoleUsage {
                    role: role.to_string(),
                    users: 0,
                    api_keys: 1,
                });
            }
        }
        in_use.sort_unstable();
        Ok(in_use)
    }

    async fn highest_password_cost(&self) -> Result<Option<u32>, StoreError> {
        let users = self.users()?;
        let hashes = users
            .by_id
            .values()
            .map(|row| row.password_hash.expose_secret());
        let ends = hashes.filter_map(|hash| hash.get(hash.len().checked_sub(60)?..));
        Ok(ends
            .filter(|end| end.starts_with("$2"))
            .filter_map(|hash| hash.get(4..6)?.parse().ok())
            .max())
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

    async fn list(&self, filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError> {
        let users = self.users()?;
        let search = filter.search.to_lowercase();
        let all = users.by_id.values().map(|row| &row.user);
        let found = all.filter(|user| {
            user.id > filter.after
                && user.username.starts_with(&filter.username_prefix)
                && filter.role.is_none_or(|role| role == user.role)
                && filter
                    .disabled
                    .is_none_or(|disabled| disabled == user.disabled)
                && user.username.to_lowercase().contains(&search)
        });
        let limit = usize::try_from(filter.limit).unwrap_or(0);
        let listed = found.take(limit).map(|user| ListedUser {
            user: user.clone(),
            last_login_at: users.logins.get(&user.id).copied(),
        });
        Ok(listed.collect())
    }
}
