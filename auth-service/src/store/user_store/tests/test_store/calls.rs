//! The calls of the test store: each is that of the real store, unless the test lets it fail or wait.

use super::{Control, TestStore};
use crate::{
    audit::{Entry, RecoveryCodeUse, Requested},
    change::{Change, GroupChange, TokenChange},
    group::{Group, Member, UserGroup},
    store::{
        AuditFilter, CheckedChange, CheckedRow, CodeLimit, CodePurpose, OneTimeCodeUse, RoleUsage,
        Seal, Snapshot, StoreError, StoredSecondFactor, UsageKind, UsagePause, UserFilter,
        WriteError, seal::SealRange,
    },
    tokens::{OpaqueToken, StoredPasswordLink, TokenBearer, TokenKind},
    user::{Credentials, ListedUser, User},
};
use async_trait::async_trait;
use futures_util::{StreamExt as _, stream::unfold};
use rolegate_proto::GroupName;
use rolegate_sql_store::{Store, StoreStatus, Timed};
use secrecy::SecretString;
use std::{future::pending, ops::Range, sync::Arc, time::Duration};

impl TestStore {
    /// Makes the call of this name, unless it fails or waits forever.
    async fn call<T: Send, E: From<StoreError> + Send>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, E> {
        let Some(control) = &self.control else {
            return call.await;
        };
        let is_stalled = {
            let state = control.state.lock();
            if state.is_down || state.failing == Some(name) {
                return Err(StoreError::TimedOut.into());
            }
            state.stalled == Some(name)
        };
        if is_stalled {
            return pending().await;
        }
        self.run(call)
    }

    /// Makes a call that reads at the time of the store.
    async fn call_timed<T: Send>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<Timed<T>, StoreError>> + Send,
    ) -> Result<Timed<T>, StoreError> {
        let mut read = self.call(name, call).await?;
        if let Some(control) = &self.control {
            read.at = control.state.lock().now;
        }
        Ok(read)
    }

    /// Fails if the store is read-only, which starts a pause of the uses.
    fn require_writable(&self) -> Result<(), StoreError> {
        let is_read_only = |control: &Control| control.state.lock().is_read_only;
        if !self.control.as_ref().is_some_and(is_read_only) {
            return Ok(());
        }
        self.run(self.sql.token_usage.note_failure(&self.sql.database));
        Err(StoreError::ReadOnly("full".into()))
    }
}

#[async_trait]
impl Store for TestStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.call("ping", self.sql.ping()).await
    }

    fn status(&self) -> StoreStatus {
        self.sql.status()
    }

    async fn close(&self) {
        let close = self.sql.close();
        match self.control {
            Some(_) => self.run(close),
            None => close.await,
        }
    }
}

/// Passes calls on to the real store.
macro_rules! calls {
    ($($call:ident $name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl TestStore {
            $(pub(crate) async fn $name(&self, $($argument: $type),*) -> $answer {
                self.$call(stringify!($name), self.sql.$name($($argument),*)).await
            })*
        }
    };
}

calls! {
    call change_user(request: Arc<Requested<Change>>) -> Result<User, WriteError>;
    call_timed users_by_id(ids: &[i64], required: &[GroupName]) -> Result<Timed<Vec<User>>, StoreError>;
    call_timed credentials_by_username(names: &[String], required: &[GroupName]) -> Result<Timed<Vec<Credentials>>, StoreError>;
    call highest_password_cost() -> Result<Option<u32>, StoreError>;
    call roles_in_use() -> Result<Vec<RoleUsage>, StoreError>;
    call replace_password(id: i64, old: &SecretString, new: SecretString) -> Result<bool, StoreError>;
    call list(filter: &UserFilter) -> Result<Vec<ListedUser>, StoreError>;
    call count(filter: &UserFilter) -> Result<i64, StoreError>;
    call listed_user(username: &str) -> Result<Option<ListedUser>, StoreError>;
    call write_search_keys() -> Result<bool, StoreError>;
    call_timed tokens_by_digest(digests: &[String], required: &[GroupName]) -> Result<Timed<Vec<TokenBearer>>, StoreError>;
    call_timed tokens_of_user(kind: TokenKind, user: i64) -> Result<Timed<Vec<OpaqueToken>>, StoreError>;
    call insert_pending_sign_in(user: &Timed<User>, digest: String) -> Result<(), WriteError>;
    call_timed pending_sign_in(digest: &str) -> Result<Timed<Option<User>>, StoreError>;
    call_timed password_link(digest: &str) -> Result<Timed<Option<StoredPasswordLink>>, StoreError>;
    call change_group(request: Arc<Requested<GroupChange>>) -> Result<Group, WriteError>;
    call group(id: i64) -> Result<Option<Group>, StoreError>;
    call group_named(name: GroupName) -> Result<Option<Group>, StoreError>;
    call groups_after(id: i64, limit: i64) -> Result<Vec<Group>, StoreError>;
    call existing_groups(names: &[String]) -> Result<Vec<String>, StoreError>;
    call group_name(id: i64) -> Result<Option<String>, StoreError>;
    call members_after(group_name: &str, user: i64, limit: i64) -> Result<Vec<Member>, StoreError>;
    call groups_of_user(user: i64) -> Result<Vec<UserGroup>, StoreError>;
    call usage_pauses() -> Result<Vec<UsagePause>, StoreError>;
    call seal() -> Result<bool, StoreError>;
    call newest_change() -> Result<i64, StoreError>;
    call seals() -> Result<SealRange, StoreError>;
    call seal_at(revision: i64) -> Result<Option<Seal>, StoreError>;
    call has_revision(revision: i64) -> Result<bool, StoreError>;
    call audit(filter: &AuditFilter) -> Result<Vec<CheckedRow>, StoreError>;
    call changes_after(revision: i64) -> Result<Vec<CheckedChange>, StoreError>;
    call oldest_unsealed() -> Result<Option<Duration>, StoreError>;
    call forget_additions() -> Result<(), StoreError>;
    call_timed second_factor(user: i64) -> Result<Timed<Option<StoredSecondFactor>>, StoreError>;
    call use_one_time_code(
        user: i64, purpose: CodePurpose, code: OneTimeCodeUse
    ) -> Result<bool, StoreError>;
    call use_recovery_code(
        purpose: CodePurpose, digest: String, request: Arc<Requested<RecoveryCodeUse>>
    ) -> Result<bool, StoreError>;
    call count_wrong_code(user: i64, limit: CodeLimit) -> Result<bool, StoreError>;
    call second_factor_key_ids() -> Result<Vec<String>, StoreError>;
}

impl TestStore {
    pub(crate) async fn change_tokens(
        &self,
        request: Arc<Requested<TokenChange>>,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        match &request.change {
            TokenChange::Create(new) => self.revoke_before_token(new.user_id),
            TokenChange::EndSessions { .. } => self.require_writable()?,
            TokenChange::Delete { .. } => {}
        }
        self.call("change_tokens", self.sql.change_tokens(request))
            .await
    }

    pub(crate) async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError> {
        self.require_writable()?;
        self.call("restrict_to_cookies", self.sql.restrict_to_cookies(ids))
            .await
    }

    pub(crate) async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError> {
        self.require_writable()?;
        let delete = self.sql.delete_idle_sessions(ids, active_range);
        self.call("delete_idle_sessions", delete).await
    }

    pub(crate) fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        self.sql.note_use(kind, id, at);
        let Some(control) = &self.control else {
            return;
        };
        let is_read_only = control.state.lock().is_read_only;
        match kind {
            _ if !is_read_only => self.write_uses(kind),
            UsageKind::Token => self.run(self.sql.token_usage.note_failure(&self.sql.database)),
            UsageKind::Password => {}
        }
    }

    pub(crate) fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.sql.unwritten_use(kind, id)
    }

    pub(crate) fn unwritten_since(&self) -> Option<u64> {
        self.sql.unwritten_since()
    }

    /// Writes the event at once, so that the record has all rows in the order in which they were made.
    pub(crate) fn enqueue_event(&self, entry: Entry) {
        self.sql.enqueue_event(entry);
        if self.control.is_none() {
            return;
        }
        self.run(self.sql.sealer.write_pending_events())
            .expect("written");
    }

    pub(crate) async fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let snapshot = self.call("snapshot", self.sql.snapshot()).await?;
        let Some(control) = &self.control else {
            return Ok(snapshot);
        };
        let pages = (Arc::clone(&control.runtime), snapshot.users);
        let users = unfold(pages, async |(runtime, mut users)| {
            let page = runtime.run(|| users.next())?;
            Some((page, (runtime, users)))
        });
        Ok(Snapshot {
            users: users.boxed(),
            ..snapshot
        })
    }

    pub(crate) async fn remove_old_rows(&self, days: u32) -> Result<(), StoreError> {
        self.call("remove_old_rows", self.sql.remove_old_rows(days))
            .await?;
        if let Some(control) = &self.control {
            control.state.lock().removals += 1;
        }
        Ok(())
    }

    pub(crate) async fn seal_all(&self) -> Result<(), StoreError> {
        while self.seal().await? {}
        Ok(())
    }
}
