//! Lists sessions, as their users know them.
//!
//! - `idle`: the end of sessions without use.
//! - `restriction`: sessions that cookies present count in cookies only.
//! - `brief_wait`: how long a decision waits for such writes.

mod brief_wait;
pub(super) mod idle;
mod restriction;

use super::{error::AccountError, opaque_tokens::ListedTokens, service::Accounts};
use crate::{
    opaque_token::{OpaqueToken, TokenKind},
    store::UsageKind,
};

/// The sessions of a user that have not ended.
#[derive(Debug)]
pub(crate) struct ListedSessions {
    /// The session by which the actor acts.
    pub(crate) current_id: Option<i64>,
    pub(crate) sessions: Vec<OpaqueToken>,
}

impl Accounts {
    /// The sessions of the actor, or of the user with this id, for an admin, that have not ended. Those that one sign-in
    /// made are one, with the last use of either: people see where they are signed in, and end both by it.
    pub(crate) async fn list_sessions(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<ListedSessions, AccountError> {
        let ListedTokens {
            actor,
            user,
            read_at,
            tokens: mut sessions,
        } = self
            .list_tokens(TokenKind::Session, credential, user_id)
            .await?;
        for session in &mut sessions {
            let noted = self.store.unwritten_use(UsageKind::Token, session.id);
            session.last_used_at = session.last_used_at.max(noted);
        }
        let in_use = self.uses_in_time(read_at).await?;
        sessions.retain(|session| {
            session.last_used_at.unwrap_or(session.created_at) >= in_use.start
                && session.expires_at.is_none_or(|end| read_at < end)
                && session.not_before == Some(user.tokens_not_before)
        });
        Ok(ListedSessions {
            current_id: actor.session_id(),
            sessions: merge_pairs(sessions),
        })
    }

    /// When a session ends unless it is used, in Unix seconds.
    pub(crate) fn idle_expires_at(&self, session: &OpaqueToken) -> u64 {
        session.idle_expires_at(self.policy.sessions.idle)
    }
}

/// Leaves the first session of each sign-in, with the last use of either.
fn merge_pairs(sessions: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    let mut sign_ins: Vec<OpaqueToken> = Vec::with_capacity(sessions.len());
    for session in sessions {
        let first = sign_ins
            .iter_mut()
            .find(|first| first.pair_id.is_some() && first.pair_id == session.pair_id);
        match first {
            Some(first) => first.last_used_at = first.last_used_at.max(session.last_used_at),
            None => sign_ins.push(session),
        }
    }
    sign_ins
}
