use super::{MemoryStore, Revocation, Users};
use crate::{
    audit::Requested,
    change::{SessionEnd, TokenChange, TokenSelection},
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
    principal::Principal,
    store::{
        StoreError, TokenStore, UsageKind, UsagePause, WriteError,
        locked_rows::{AdminCount, check_new_token},
    },
    user::Credentials,
};
use async_trait::async_trait;
use rolegate_proto::limits::{MAX_API_KEYS, MAX_SESSIONS};
use rolegate_sql_store::Timed;
use std::{cmp::Reverse, future::pending, mem, ops::Range, sync::Arc};

#[async_trait]
impl TokenStore for MemoryStore {
    async fn change_tokens(
        &self,
        request: Arc<Requested<TokenChange>>,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let mut users = self.users()?;
        let by = &request.by;
        let changed = match &request.change {
            TokenChange::Create(tokens) => users.insert_tokens(by, tokens)?,
            TokenChange::Delete {
                kind,
                user_id,
                selection,
            } => users.delete_tokens(by, *kind, *user_id, *selection)?,
            TokenChange::EndSessions { digests, extent } => {
                users.end_sessions_by_digest(digests, *extent)?
            }
        };
        for token in &changed {
            let name = users.by_id[&token.user_id].user.username.clone();
            let entry = request.entry_for_token(token, Some(&name));
            users.record.push(entry);
        }
        Ok(changed)
    }

    async fn tokens_by_digest(
        &self,
        digests: &[String],
    ) -> Result<Timed<Vec<TokenBearer>>, StoreError> {
        let users = self.users()?;
        let found = users
            .tokens
            .values()
            .filter(|(digest, _)| digests.contains(digest));
        let found = found
            .map(|(digest, token)| TokenBearer {
                digest: digest.clone(),
                token_id: token.id,
                role: token.role,
                expires_at: token.expires_at,
                last_used_at: token.last_used_at.unwrap_or(token.created_at),
                not_before: token.not_before,
                cookie_only: token.cookie_only,
                user: users.by_id[&token.user_id].user.clone(),
            })
            .collect();
        Ok(Timed {
            at: users.now,
            value: found,
        })
    }

    async fn tokens_of_user(
        &self,
        kind: TokenKind,
        user_id: i64,
    ) -> Result<Timed<Vec<OpaqueToken>>, StoreError> {
        let users = self.users()?;
        let tokens = users.tokens.values().map(|(_, token)| token);
        let of_user = tokens.filter(|token| token.user_id == user_id && token.kind() == kind);
        Ok(Timed {
            at: users.now,
            value: of_user.cloned().collect(),
        })
    }

    async fn restrict_to_cookies(&self, ids: &[i64]) -> Result<(), StoreError> {
        if self.users()?.stalled == Some("restrict_to_cookies") {
            return pending().await;
        }
        let mut users = self.users()?;
        if users.is_read_only {
            return Err(StoreError::ReadOnly("full".into()));
        }
        for id in ids {
            if let Some((_, token)) = users.tokens.get_mut(id) {
                token.cookie_only = token.kind() == TokenKind::Session;
            }
        }
        Ok(())
    }

    async fn delete_idle_sessions(
        &self,
        ids: &[i64],
        active_range: Range<u64>,
    ) -> Result<Vec<i64>, StoreError> {
        let mut users = self.users()?;
        if users.is_read_only {
            let now = users.now;
            users.unwritten_since.get_or_insert(now);
            return Err(StoreError::ReadOnly("full".into()));
        }
        let is_idle = |token: &OpaqueToken| {
            ids.contains(&token.id)
                && token.kind() == TokenKind::Session
                && !active_range.contains(&token.last_used_at.unwrap_or(token.created_at))
        };
        users.tokens.retain(|_, (_, token)| !is_idle(token));
        Ok(ids
            .iter()
            .copied()
            .filter(|id| !users.tokens.contains_key(id))
            .collect())
    }

    fn note_use(&self, kind: UsageKind, id: i64, at: u64) {
        let Ok(mut users) = self.users() else { return };
        if users.is_read_only {
            users.noted.insert((kind, id), at);
            if kind == UsageKind::Token {
                users.unwritten_since.get_or_insert(at);
            }
            return;
        }
        users.write_use(kind, id, at);
    }

    fn unwritten_use(&self, kind: UsageKind, id: i64) -> Option<u64> {
        self.users().ok()?.noted.get(&(kind, id)).copied()
    }

    fn unwritten_since(&self) -> Option<u64> {
        self.users().ok()?.unwritten_since
    }

    async fn usage_pauses(&self) -> Result<Vec<UsagePause>, StoreError> {
        Ok(self.users()?.usage_pauses.clone())
    }
}

impl Users {
    fn insert_tokens(
        &mut self,
        by: &Principal,
        tokens: &[NewToken],
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let Some(first) = tokens.first().map(|token| &token.stored) else {
            return Ok(Vec::new());
        };
        let now = self.now;
        if mem::take(&mut self.revokes_before_token) {
            let row = self.by_id.get_mut(&first.user_id);
            let user = &mut row.ok_or(WriteError::UserNotFound)?.user;
            user.revoke(now, Revocation::Grow);
        }
        self.check_insertion(by, first, tokens.len())?;
        if let Principal::PendingSignIn { digest, .. } = by {
            self.factors.pending.retain(|it| it.digest != *digest);
        }
        let mut inserted = Vec::new();
        for new in tokens {
            self.additions.push((first.user_id, now));
            self.last_token_id += 1;
            let token = OpaqueToken {
                id: self.last_token_id,
                ..new.stored.clone()
            };
            let stored = (new.digest.clone(), token.clone());
            self.tokens.insert(token.id, stored);
            inserted.push(token);
        }
        if first.kind() == TokenKind::Session {
            self.make_room(first, &inserted);
        }
        Ok(inserted)
    }

    /// Checks the conditions of an insertion of this many tokens, of which `first` is the first one.
    fn check_insertion(
        &self,
        by: &Principal,
        first: &OpaqueToken,
        count: usize,
    ) -> Result<(), WriteError> {
        if self.has_session_ended(by) {
            return Err(WriteError::UserNotFound);
        }
        let rows: Vec<Credentials> = self.by_id.values().cloned().collect();
        check_new_token(by, &rows, first.user_id)?;
        if let Principal::PendingSignIn { digest, .. } = by {
            let user = self.user_of_pending(digest);
            if user.is_none_or(|user| user.id != first.user_id) {
                return Err(WriteError::UserNotFound);
            }
        }
        if !matches!(by, Principal::Operator) {
            self.check_additions(first.user_id, count)?;
        }
        let keys = self
            .tokens
            .values()
            .filter(|(_, it)| it.user_id == first.user_id && it.kind() == TokenKind::ApiKey);
        if first.kind() == TokenKind::ApiKey && keys.count() >= MAX_API_KEYS {
            return Err(WriteError::ApiKeyLimit);
        }
        Ok(())
    }

    /// Deletes sessions of the user to make room for the ones that were just inserted, of which `first` is the first
    /// one.
    fn make_room(&mut self, first: &OpaqueToken, inserted: &[OpaqueToken]) {
        let is_session =
            |it: &OpaqueToken| it.user_id == first.user_id && it.kind() == TokenKind::Session;
        self.tokens.retain(|_, (_, it)| {
            !is_session(it) || it.expires_at.is_none_or(|end| end > first.created_at)
        });
        let sessions = self
            .tokens
            .values()
            .map(|(_, it)| it)
            .filter(|it| is_session(it));
        let mut sessions: Vec<_> = sessions
            .map(|it| (it.last_used_at.unwrap_or(it.created_at), it.id))
            .collect();
        sessions.sort_by_key(|&used| Reverse(used));
        let is_new = |id: &i64| inserted.iter().any(|token| token.id == *id);
        for (_, id) in sessions.into_iter().skip(MAX_SESSIONS) {
            if !is_new(&id) {
                self.tokens.remove(&id);
            }
        }
    }

    fn delete_tokens(
        &mut self,
        by: &Principal,
        kind: TokenKind,
        user_id: i64,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        if by.admin_id().is_some() {
            self.find(by, user_id, AdminCount::Kept)?;
        }
        let selected = match selection {
            TokenSelection::One(id) | TokenSelection::AllBut(id) => Some(id),
            TokenSelection::All => None,
        };
        let pair_id = self.pair_of(user_id, selected);
        let is_meant = |token: &OpaqueToken| {
            let is_selected =
                Some(token.id) == selected || (pair_id.is_some() && token.pair_id == pair_id);
            token.user_id == user_id
                && token.kind() == kind
                && is_selected == matches!(selection, TokenSelection::One(_))
        };
        let deleted = self.tokens.extract_if(.., |_, (_, token)| is_meant(token));
        Ok(deleted.map(|(_, (_, token))| token).collect())
    }

    fn end_sessions_by_digest(
        &mut self,
        digests: &[String],
        extent: SessionEnd,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        if self.is_read_only {
            return Err(StoreError::ReadOnly("full".into()).into());
        }
        let pairs: Vec<i64> = match extent {
            SessionEnd::Alone => Vec::new(),
            SessionEnd::WithPairs => {
                let presented = self.tokens.values();
                let presented = presented.filter(|(digest, _)| digests.contains(digest));
                presented.filter_map(|(_, token)| token.pair_id).collect()
            }
        };
        let is_meant = |digest: &String, token: &OpaqueToken| {
            let is_of_pair = token.pair_id.as_ref().is_some_and(|id| pairs.contains(id));
            token.kind() == TokenKind::Session && (digests.contains(digest) || is_of_pair)
        };
        let ended = self
            .tokens
            .extract_if(.., |_, (digest, token)| is_meant(digest, token));
        Ok(ended.map(|(_, (_, token))| token).collect())
    }
}
