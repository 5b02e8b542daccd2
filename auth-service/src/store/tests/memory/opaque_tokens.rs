use super::MemoryStore;
use crate::{
    audit::Write,
    opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind},
    store::{
        SessionEnd, StoreError, TokenSelection, TokenStore, UsageKind, UsagePause, WriteError,
        Writer, admin_check::AdminCount,
    },
    user::Credentials,
};
use async_trait::async_trait;
use rolegate_proto::limits::{MAX_API_KEYS, MAX_SESSIONS};
use rolegate_sql_store::Timed;
use std::{cmp::Reverse, future::pending, mem, ops::Range};

#[async_trait]
impl TokenStore for MemoryStore {
    async fn insert_tokens(
        &self,
        tokens: Vec<NewToken>,
        writer: Writer,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let mut users = self.users()?;
        let first = tokens[0].stored.clone();
        if mem::take(&mut users.revokes_before_token) {
            let now = users.now;
            users
                .find(None, first.user_id, AdminCount::Kept)?
                .user
                .revoke(now, None);
        }
        if writer
            .session_id()
            .is_some_and(|session| !users.tokens.contains_key(&session))
        {
            return Err(WriteError::UserNotFound);
        }
        let rows: Vec<Credentials> = users.by_id.values().cloned().collect();
        writer.check_new_token(&rows, first.user_id)?;
        let pending = match &writer {
            Writer::PendingSignIn { digest, .. } => Some(digest.clone()),
            _ => None,
        };
        let is_of = |digest: &str| {
            users
                .user_of_pending(digest)
                .is_some_and(|user| user.id == first.user_id)
        };
        if !pending.as_deref().is_none_or(is_of) {
            return Err(WriteError::UserNotFound);
        }
        if !matches!(writer, Writer::Operator) {
            users.check_additions(first.user_id, tokens.len())?;
        }
        let keys = users
            .tokens
            .values()
            .filter(|(_, it)| it.user_id == first.user_id && it.kind() == TokenKind::ApiKey);
        if first.kind() == TokenKind::ApiKey && keys.count() >= MAX_API_KEYS {
            return Err(WriteError::ApiKeyLimit);
        }
        users
            .factors
            .pending
            .retain(|it| Some(&it.digest) != pending.as_ref());
        let now = users.now;
        let mut inserted = Vec::new();
        for new in tokens {
            users.additions.push((first.user_id, now));
            users.last_token_id += 1;
            let id = users.last_token_id;
            let token = OpaqueToken { id, ..new.stored };
            users.tokens.insert(id, (new.digest, token.clone()));
            let name = users.by_id[&token.user_id].user.username.clone();
            users
                .record
                .push(write.entry_for_token(&token, Some(&name)));
            inserted.push(token);
        }
        if first.kind() == TokenKind::Session {
            let is_session =
                |it: &OpaqueToken| it.user_id == first.user_id && it.kind() == TokenKind::Session;
            users.tokens.retain(|_, (_, it)| {
                !is_session(it) || it.expires_at.is_none_or(|end| end > first.created_at)
            });
            let sessions = users
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
                    users.tokens.remove(&id);
                }
            }
        }
        Ok(inserted)
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

    async fn delete_tokens(
        &self,
        kind: TokenKind,
        actor: Option<i64>,
        user_id: i64,
        selection: TokenSelection,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let mut users = self.users()?;
        if actor.is_some() {
            users.find(actor, user_id, AdminCount::Kept)?;
        }
        let selected = match selection {
            TokenSelection::One(id) | TokenSelection::AllBut(id) => Some(id),
            TokenSelection::All => None,
        };
        let pair_id = users.pair_of(user_id, selected);
        let is_meant = |token: &OpaqueToken| {
            let is_selected =
                Some(token.id) == selected || (pair_id.is_some() && token.pair_id == pair_id);
            token.user_id == user_id
                && token.kind() == kind
                && is_selected == matches!(selection, TokenSelection::One(_))
        };
        let deleted = users.tokens.extract_if(.., |_, (_, token)| is_meant(token));
        let deleted: Vec<OpaqueToken> = deleted.map(|(_, (_, token))| token).collect();
        let name = users
            .by_id
            .get(&user_id)
            .map(|row| row.user.username.clone());
        users.record.extend(
            deleted
                .iter()
                .map(|it| write.entry_for_token(it, name.as_deref())),
        );
        Ok(deleted)
    }

    async fn end_sessions_by_digest(
        &self,
        digests: &[String],
        extent: SessionEnd,
        write: Write,
    ) -> Result<Vec<OpaqueToken>, WriteError> {
        let mut users = self.users()?;
        if users.is_read_only {
            return Err(StoreError::ReadOnly("full".into()).into());
        }
        let pairs: Vec<i64> = match extent {
            SessionEnd::Alone => Vec::new(),
            SessionEnd::WithPairs => {
                let presented = users.tokens.values();
                let presented = presented.filter(|(digest, _)| digests.contains(digest));
                presented.filter_map(|(_, token)| token.pair_id).collect()
            }
        };
        let is_meant = |digest: &String, token: &OpaqueToken| {
            let is_of_pair = token.pair_id.as_ref().is_some_and(|id| pairs.contains(id));
            token.kind() == TokenKind::Session && (digests.contains(digest) || is_of_pair)
        };
        let ended = users
            .tokens
            .extract_if(.., |_, (digest, token)| is_meant(digest, token));
        let ended: Vec<OpaqueToken> = ended.map(|(_, (_, token))| token).collect();
        for token in &ended {
            let name = users.by_id[&token.user_id].user.username.clone();
            users.record.push(write.entry_for_token(token, Some(&name)));
        }
        Ok(ended)
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
