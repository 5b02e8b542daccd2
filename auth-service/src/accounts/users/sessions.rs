//! Lists sessions, and signs users out: ends their sessions and revokes their access tokens.
//!
//! The `Authenticator` creates sessions, because that needs a password instead of a credential.

use super::Users;
use crate::{
    accounts::{authorizer::TokenSource, error::AccountError, policy::Requirement},
    actor::Actor,
    change::{Change, SessionEnd, TokenChange, TokenSelection},
    principal::Principal,
    store::{DecisionKey, UsageKind},
    tokens::{OpaqueToken, SecretKind, TokenKind},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;

/// The active sessions of a user.
pub(crate) struct ListedSessions {
    /// The session that the actor presented; `None` for another credential.
    pub(crate) current_id: Option<i64>,
    pub(crate) sessions: Vec<OpaqueToken>,
}

impl Users {
    /// Lists the active sessions of the actor. With a user id, lists the active sessions of that
    /// user; the actor must then be an admin.
    ///
    /// The two sessions of one sign-in are listed as one, with the later of their last uses. People
    /// want to see where they are signed in, and want to end both sessions at once.
    pub(crate) async fn list_sessions(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<ListedSessions, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let user = self.find_user_or_actor(user_id, &actor).await?;
        let Timed {
            at: read_at,
            value: mut sessions,
        } = self
            .store
            .tokens_of_user(TokenKind::Session, user.id)
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

    /// Ends the session in a cookie of the sign-in page, and returns its user.
    pub(crate) async fn end_cookie_session(&self, credential: &str) -> Result<User, AccountError> {
        let actor = self
            .authorizer
            .authorize_from(
                TokenSource::Cookie,
                credential,
                &Requirement::AnyAuthenticated,
            )
            .await?;
        let session = actor.session_id().ok_or(Reason::TokenInvalid)?;
        self.end_session(actor, session).await
    }

    /// Ends the sessions of these tokens, even if they belong to different users: the tokens are
    /// from the cookies that a browser sent, and another host may have set some of them.
    ///
    /// Tokens of another kind and tokens of sessions that have ended are ignored.
    pub(crate) async fn end_cookie_sessions(
        &self,
        tokens: &[String],
        extent: SessionEnd,
    ) -> Result<(), AccountError> {
        let digests: Vec<String> = tokens
            .iter()
            .filter_map(|token| {
                SecretKind::detect(token)
                    .filter(|kind| kind.is_session())?
                    .digest(token)
            })
            .collect();
        let keys = digests.iter().cloned().map(DecisionKey::from);
        let found = self.reads.tokens.get_all(keys.collect()).await?;
        let mut users = Vec::new();
        for found in found.value.into_values() {
            users.push(found?.user);
        }
        if users.is_empty() {
            return Ok(());
        }
        let change = TokenChange::EndSessions { digests, extent };
        self.changes
            .apply_to_tokens(Principal::Sessions(users), change, None)
            .await?;
        Ok(())
    }

    /// Ends the session that the actor presented, and returns the actor.
    async fn end_session(&self, actor: Actor, session: i64) -> Result<User, AccountError> {
        let user = actor.user.clone();
        let change = TokenChange::Delete {
            kind: TokenKind::Session,
            user_id: user.id,
            selection: TokenSelection::One(session),
        };
        let ended = self
            .changes
            .apply_to_tokens(Principal::Owner(actor), change, None)
            .await?;
        // If nothing was deleted, a concurrent logout has ended the session first.
        if ended.is_empty() {
            return Err(Reason::TokenInvalid.into());
        }
        Ok(user)
    }

    /// Logs a user out, and returns the user.
    ///
    /// If `user_id` is `None` and the credential is a session, this ends only that session and the
    /// other session of the same sign-in. Otherwise it revokes every access token and ends every
    /// session of the user; only an admin may give a `user_id`. Tokens that were issued before this
    /// call are refused on every replica once the call has returned; tokens of later logins are
    /// valid. API keys stay valid, and cannot log their own user out.
    pub(crate) async fn revoke_tokens(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<User, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let id = user_id.unwrap_or(actor.user.id);
        actor.refuse_own_key(id)?;
        if let (None, Some(session)) = (user_id, actor.session_id()) {
            return self.end_session(actor, session).await;
        }
        let by = Principal::acting_on(user_id, actor);
        let change = Change::RevokeTokens { user_id: id };
        // The write finds no user if a concurrent logout came first or the user was deleted.
        self.change_or_reauthorize(credential, by, change, Reason::UserNotFound)
            .await
    }
}

/// Merges the two sessions of a sign-in into the first one, which gets the later of their last
/// uses.
fn merge_pairs(sessions: Vec<OpaqueToken>) -> Vec<OpaqueToken> {
    let pair_id = |session: &OpaqueToken| session.session()?.pair_id;
    let mut sign_ins: Vec<OpaqueToken> = Vec::with_capacity(sessions.len());
    for session in sessions {
        let pair = pair_id(&session);
        let first = sign_ins
            .iter_mut()
            .find(|first| pair.is_some() && pair_id(first) == pair);
        match first {
            Some(first) => first.last_used_at = first.last_used_at.max(session.last_used_at),
            None => sign_ins.push(session),
        }
    }
    sign_ins
}
