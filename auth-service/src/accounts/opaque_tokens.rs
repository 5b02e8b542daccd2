//! Creates API keys, and lists and deletes API keys and sessions.

use super::{authorize::Requirement, error::AccountError, service::Accounts};
use crate::{
    actor::Actor,
    audit::{Change, Initiator, Write},
    metrics,
    opaque_token::{NewToken, OpaqueToken, TokenKind},
    store::{TokenSelection, WriteError, Writer},
    user::User,
};
use rolegate_proto::{Reason, Role, has_blank, limits::API_KEY_PREFIX};
use rolegate_sql_store::Timed;
use secrecy::SecretString;
use std::sync::Arc;

/// 10000-01-01T00:00:00Z, the first time that RFC 3339 cannot write.
const MAX_TIME: u64 = 253_402_300_800;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApiKeyRequest {
    /// The user who acts by it; `None` for the actor.
    pub(crate) user_id: Option<i64>,
    /// As its user named it.
    pub(crate) name: String,
    /// The highest role that it grants: `None` for the user's, `Some(None)` for a malformed one.
    #[expect(
        clippy::option_option,
        reason = "absent and malformed are not the same"
    )]
    pub(crate) role: Option<Option<Role>>,
    /// When it ends, in Unix seconds; `None` for never.
    pub(crate) expires_at: Option<i64>,
}

impl Accounts {
    /// Creates a key of the actor, or for an admin one of another user, and returns the key itself with what
    /// is stored of it. A leaked key cannot make keys that outlive it, nor can a credential that is
    /// revoked meanwhile.
    pub(crate) async fn create_api_key(
        &self,
        credential: &str,
        request: ApiKeyRequest,
    ) -> Result<(SecretString, OpaqueToken), AccountError> {
        let ApiKeyRequest {
            user_id,
            name,
            role,
            expires_at,
        } = request;
        let requirement = Requirement::of_user_or_admin(user_id);
        let actor = self
            .authorize(credential, &requirement)
            .await?
            .require_person()?;
        let user = self.user_of(&actor, user_id).await?;
        if user_id.is_some() && user.role == Role::ADMIN {
            return Err(WriteError::UserIsAdmin.into());
        }
        check_name(TokenKind::ApiKey, &name)?;
        let created_at = actor.at;
        let expires_at = expires_at
            .map(|at| check_key_expiry(at, created_at))
            .transpose()?;
        let is_allowed = |role: &Role| {
            self.policy.roles.contains(role) && (user_id.is_none() || *role != Role::ADMIN)
        };
        let role = match role {
            None if user_id.is_some() => return Err(Reason::RoleInvalid.into()),
            role => role.map(|role| role.filter(is_allowed).ok_or(Reason::RoleInvalid)),
        };
        let role = role.transpose()?;
        let new = NewToken::generate(API_KEY_PREFIX, user.id, name, created_at);
        let mut new = new.map_err(AccountError::internal)?;
        (new.stored.role, new.stored.expires_at) = (role, expires_at);
        new.stored.created_by = user_id.map(|_| actor.user.username.clone());
        let token = new.token.clone();
        let (writer, by) = match user_id {
            Some(_) => (
                Writer::Admin(actor.user.id),
                Initiator::Actor(actor.clone()),
            ),
            None => (
                actor.as_owner(),
                Initiator::Owner {
                    session: actor.session_id(),
                },
            ),
        };
        let store = Arc::clone(&self.store);
        let write = Write::new(Change::ApiKeyCreated, by, Some(user.id));
        let insert = move |write| async move { store.insert_token(new, writer, write).await };
        let record = move |write: &Write, key: &OpaqueToken| {
            write.entry_for_token(key, Some(&user.username)).log();
            metrics::API_KEYS_CREATED.inc();
        };
        let inserted = write.run(insert, record).await;
        let otherwise = user_id.map_or(Reason::TokenInvalid, |_| Reason::UserNotFound);
        Ok((
            token,
            self.or_reauthorize(inserted, credential, &requirement, otherwise)
                .await?,
        ))
    }

    /// The user with this id, or the actor.
    async fn user_of(&self, actor: &Actor, user_id: Option<i64>) -> Result<User, AccountError> {
        match user_id {
            Some(id) => self.find(id).await,
            None => Ok(actor.user.clone()),
        }
    }

    /// The actor, and the user and the tokens of the actor, or of the user with this id, for an admin.
    pub(crate) async fn list_tokens(
        &self,
        kind: TokenKind,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<(Actor, User, Timed<Vec<OpaqueToken>>), AccountError> {
        let actor = self
            .authorize(credential, &Requirement::of_user_or_admin(user_id))
            .await?;
        let user = self.user_of(&actor, user_id).await?;
        let tokens = self.store.tokens_of_user(kind, user.id).await?;
        Ok((actor, user, tokens))
    }

    /// Deletes the token with this id, or without one all but that of the actor, of the actor, or of the user
    /// with this id, for an admin. A leaked key can, of its own user's tokens, only delete itself.
    pub(crate) async fn delete_tokens(
        &self,
        kind: TokenKind,
        credential: &str,
        user_id: Option<i64>,
        token_id: Option<i64>,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let actor = self
            .authorize(credential, &Requirement::of_user_or_admin(user_id))
            .await?;
        let itself = (kind == TokenKind::ApiKey).then_some(token_id).flatten();
        if actor.key_id().is_none_or(|own| Some(own) != itself) {
            actor.refuse_own_key(user_id.unwrap_or(actor.user.id))?;
        }
        let tokens = self
            .delete_tokens_by(actor, kind, user_id, token_id)
            .await?;
        if tokens.is_empty() && token_id.is_some() {
            return Err(kind.not_found_reason().into());
        }
        Ok(tokens)
    }

    /// The same, of an actor who may.
    pub(super) async fn delete_tokens_by(
        &self,
        actor: Actor,
        kind: TokenKind,
        user_id: Option<i64>,
        token_id: Option<i64>,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let own = actor.session_id().filter(|_| kind == TokenKind::Session);
        let selection = token_id.map_or(TokenSelection::AllBut(own), TokenSelection::One);
        let (admin, id) = (
            user_id.map(|_| actor.user.id),
            user_id.unwrap_or(actor.user.id),
        );
        let store = Arc::clone(&self.store);
        let delete = move |write| async move {
            store.delete_tokens(kind, admin, id, selection, write).await
        };
        let record = |write: &Write, tokens: &Vec<OpaqueToken>| {
            for token in tokens {
                write.entry_for_token(token, None).log();
            }
        };
        let change = match kind {
            TokenKind::ApiKey => Change::ApiKeyDeleted,
            TokenKind::Session => Change::SessionEnded,
        };
        Ok(Write::by_actor(actor, change, id)
            .run(delete, record)
            .await?)
    }
}

/// Checks the rules of a new token's name, which is one line that looks like no other name.
pub(crate) fn check_name(kind: TokenKind, name: &str) -> Result<(), AccountError> {
    let broken = if name.is_empty() || name.chars().nth(100).is_some() {
        "have 1 to 100 characters"
    } else if name.chars().any(char::is_control) {
        "not contain control characters"
    } else if name.trim() != name {
        "not begin or end with white space"
    } else if has_blank(name) {
        "not contain invisible or unassigned characters"
    } else {
        return Ok(());
    };
    let rule = format!("{} name must {broken}.", kind.title());
    Err(AccountError::Invalid(kind.invalid_reason(), rule.into()))
}

/// Checks when a new key ends, in Unix seconds.
pub(crate) fn check_key_expiry(expires_at: i64, now: u64) -> Result<u64, AccountError> {
    let broken = |rule: &'static str| AccountError::Invalid(Reason::ApiKeyInvalid, rule.into());
    match u64::try_from(expires_at) {
        Ok(time) if time >= MAX_TIME => {
            Err(broken("API key expiry must be before the year 10000."))
        }
        Ok(time) if time > now => Ok(time),
        _ => Err(broken("API key expiry must be in the future.")),
    }
}
