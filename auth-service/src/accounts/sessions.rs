//! Sessions: made by a password, and ended by time.

use super::{
    authorize::Requirement, credentials::Presented, error::AccountError, opaque_tokens::check_name,
    service::Accounts,
};
use crate::{
    actor::Actor,
    audit::{By, Change, Write},
    call_origin::CallOrigin,
    opaque_token::{OpaqueToken, TokenBearer, TokenClient, TokenKind},
    store::{StoreError, WriteError, Writer},
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sql_store::Timed;
use secrecy::SecretString;
use std::sync::Arc;

/// Bytes of a stored `User-Agent`.
const MAX_USER_AGENT: usize = 256;

/// A session to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRequest {
    /// As the client named it.
    pub name: Option<String>,
    /// The `User-Agent` of the client.
    pub user_agent: String,
}

/// The id of a session without use for too long, and why it could not be ended.
pub(super) type IdleSession = (i64, Option<StoreError>);

impl Accounts {
    /// Makes a session of the user of this name, if the password is correct, with the checks of a login.
    pub async fn create_session(
        &self,
        username: &str,
        password: SecretString,
        request: SessionRequest,
        origin: CallOrigin,
    ) -> Result<(SecretString, OpaqueToken, User), AccountError> {
        if let Some(name) = &request.name {
            check_name(TokenKind::Session, name)?;
        }
        let presented = Presented::new(username, password, origin, "session");
        let user_agent = request.user_agent.chars().filter(|c| !c.is_control()).collect::<String>();
        let user_agent = &user_agent[..user_agent.floor_char_boundary(MAX_USER_AGENT)];
        let client = TokenClient {
            address: origin.client_address.map(|address| address.to_string()),
            user_agent: Some(user_agent.to_owned()).filter(|it| !it.is_empty()),
        };
        let name = request.name.unwrap_or_default();
        let mut is_repeated = false;
        loop {
            let (checked, Timed { at, value: user }) = self.check_login(&presented).await?;
            let new = TokenKind::Session.generate(user.id, name.clone(), at);
            let mut new = new.map_err(AccountError::internal)?;
            new.stored.expires_at = Some(at.saturating_add(self.policy.sessions.max));
            new.stored.not_before = Some(user.tokens_not_before);
            new.stored.client = client.clone();
            let token = new.token.clone();
            let password_hash = checked.credentials.password_hash.clone();
            let writer = Writer::Login { seen: user.tokens_not_before, password_hash };
            let (store, recorded) = (Arc::clone(&self.store), user.username.clone());
            let insert = async move { store.insert_token(new, writer).await };
            let record = move |write: &Write, session: &OpaqueToken| {
                write.record_token(session, Some(&recorded));
            };
            let (change, by) = (Change::SessionCreated, By::Owner);
            let write = Write { change, by, user_id: Some(user.id) };
            match write.run(insert, record).await {
                // A logout meanwhile, or another hash of the same password: checked once more.
                Err(WriteError::UserNotFound) if !is_repeated => is_repeated = true,
                Err(WriteError::UserNotFound) => return Err(Reason::CredentialsInvalid.into()),
                Err(error) => return Err(error.into()),
                Ok(session) => {
                    self.rehash(&presented, &checked);
                    return Ok((token, session, user));
                }
            }
        }
    }

    /// The sessions of the actor, or of the user with this id, for an admin, that have not ended.
    pub(crate) async fn list_sessions(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<(Actor, Vec<OpaqueToken>), AccountError> {
        let (actor, user, Timed { at, value: mut sessions }) =
            self.list_tokens(TokenKind::Session, credential, user_id).await?;
        sessions.retain(|session| {
            at < session.idle_expires_at(self.policy.sessions.idle)
                && session.not_before >= Some(user.tokens_not_before)
        });
        Ok((actor, sessions))
    }

    /// When a session ends unless it is used, in Unix seconds.
    pub(crate) fn idle_expires_at(&self, session: &OpaqueToken) -> u64 {
        session.idle_expires_at(self.policy.sessions.idle)
    }

    /// The bearer of a credential.
    pub(crate) async fn current_user(&self, credential: &str) -> Result<Actor, AccountError> {
        self.authorize(credential, &Requirement::AnyAuthenticated).await
    }

    /// Deletes the sessions among these tokens that were not used for too long, so that none lives again,
    /// whatever the clock says later. While the store cannot write, uses on other replicas are not known
    /// either, and sessions do not end.
    pub(super) async fn end_idle_sessions<'t>(
        &self,
        at: u64,
        tokens: impl Iterator<Item = &'t TokenBearer>,
    ) -> Vec<IdleSession> {
        let limit = self.policy.sessions.idle;
        // A use in the future is one by a clock that was ahead.
        let in_use = (at + 1).saturating_sub(limit)..at.saturating_add(limit);
        let is_idle = |token: &&TokenBearer| {
            let noted = || self.store.noted_token_use(token.token_id);
            token.kind() == TokenKind::Session
                && !in_use.contains(&token.last_used_at)
                && !noted().is_some_and(|noted| in_use.contains(&noted))
        };
        let idle: Vec<i64> = tokens.filter(is_idle).map(|token| token.token_id).collect();
        if idle.is_empty() {
            return Vec::new();
        }
        match self.store.delete_idle_sessions(&idle, in_use).await {
            Ok(ended) => ended.into_iter().map(|id| (id, None)).collect(),
            Err(StoreError::ReadOnly(_)) => Vec::new(),
            Err(error) => idle.into_iter().map(|id| (id, Some(error.clone()))).collect(),
        }
    }
}
