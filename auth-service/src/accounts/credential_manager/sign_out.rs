//! Ends sessions and revokes access tokens, for users themselves and for admins.

use super::CredentialManager;
use crate::{
    accounts::{authorizer::TokenSource, error::AccountError, requirement::Requirement},
    actor::Actor,
    change::{Change, SessionEnd, TokenChange, TokenSelection},
    principal::Principal,
    tokens::{SecretKind, TokenKind},
    user::User,
};
use rolegate_proto::Reason;

impl CredentialManager {
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
            .filter_map(|token| match SecretKind::detect(token)? {
                SecretKind::ApiKey => None,
                session => session.digest(token),
            })
            .collect();
        let found = self.reads.tokens.get_all(digests.clone()).await?;
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

    async fn end_session(&self, actor: Actor, session: i64) -> Result<User, AccountError> {
        let user = actor.user.clone();
        let session = TokenSelection::One(session);
        let ended = self
            .delete_tokens_by(actor, TokenKind::Session, None, session)
            .await?;
        // A concurrent logout has ended the session first.
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
