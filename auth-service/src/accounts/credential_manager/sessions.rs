//! Lists the active sessions of a user, one for each sign-in.

use super::{CredentialManager, opaque_tokens::ListedTokens};
use crate::{
    accounts::error::AccountError,
    store::UsageKind,
    tokens::{OpaqueToken, TokenKind},
};

/// The active sessions of a user.
pub(crate) struct ListedSessions {
    /// The session that the actor presented; `None` for another credential.
    pub(crate) current_id: Option<i64>,
    pub(crate) sessions: Vec<OpaqueToken>,
}

impl CredentialManager {
    /// Lists the active sessions of the actor. With a user id, lists the active sessions of that
    /// user; the actor must then be an admin.
    /// The two sessions of one sign-in are listed as one, with the later of their last uses. People
    /// want to see where they are signed in, and want to end both sessions at once.
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
        let active_range = self.authorizer.active_last_use_range(read_at).await?;
        sessions.retain(|session| {
            session.last_used_at.unwrap_or(session.created_at) >= active_range.start
                && session.expires_at.is_none_or(|end| read_at < end)
                && session
                    .session()
                    .is_some_and(|details| details.not_before == user.tokens_not_before)
        });
        Ok(ListedSessions {
            current_id: actor.session_id(),
            sessions: merge_pairs(sessions),
        })
    }
}

/// Merges the two sessions of a sign-in into the first one, which gets the later of their last
/// uses.
fn merge_pairs(sessions: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    let mut sign_ins: Vec<OpaqueToken> = Vec::with_capacity(sessions.len());
    for session in sessions {
        let pair_id = session.session().and_then(|details| details.pair_id);
        let first = sign_ins.iter_mut().find(|first| {
            pair_id.is_some() && first.session().and_then(|details| details.pair_id) == pair_id
        });
        match first {
            Some(first) => first.last_used_at = first.last_used_at.max(session.last_used_at),
            None => sign_ins.push(session),
        }
    }
    sign_ins
}
