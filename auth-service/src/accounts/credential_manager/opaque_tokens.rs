//! Creates API keys, and lists and deletes API keys and sessions.
//!
//! `session_creation` creates sessions, because that needs a password instead of a credential.

use super::CredentialManager;
use crate::{
    accounts::{error::AccountError, requirement::Requirement},
    actor::Actor,
    change::{TokenChange, TokenSelection},
    principal::Principal,
    store::WriteError,
    tokens::{NewToken, OpaqueToken, SecretKind, TokenDetails, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role, UnknownRole, has_blank, time::END_OF_9999};
use secrecy::SecretString;

#[derive(Default)]
pub(crate) struct ApiKeyRequest {
    /// The id of the user for whom the key acts; `None` for the actor.
    pub(crate) user_id: Option<i64>,
    /// The name that the key's user sees in lists.
    pub(crate) name: String,
    /// The highest role that the key grants. `None` stands for the user's own role, and an error
    /// for a malformed role name.
    pub(crate) role: Option<Result<Role, UnknownRole>>,
    /// When the key expires, in Unix seconds; `None` if it never does.
    pub(crate) expires_at: Option<i64>,
}

pub(crate) struct CreatedApiKey {
    /// The key itself, which is shown once and not stored.
    pub(crate) key: SecretString,
    pub(crate) stored: OpaqueToken,
}

/// The tokens of a user, and the actor who lists them.
pub(crate) struct ListedTokens {
    pub(crate) actor: Actor,
    /// The user who owns the tokens.
    pub(super) user: User,
    /// When the tokens were read, in Unix seconds.
    pub(super) read_at: u64,
    pub(crate) tokens: Vec<OpaqueToken>,
}

impl CredentialManager {
    /// Creates an API key for the actor, or for another user if the actor is an admin. Returns the
    /// key, and what is stored about it. A key for another user needs a role below `admin`, and
    /// that user must not be an admin.
    ///
    /// An API key cannot create keys, because otherwise a leaked key could create others that
    /// outlive it. A key of the actor is not created if the presented credential is revoked
    /// meanwhile. A key of another user is not created if the actor is no longer an admin.
    pub(crate) async fn create_api_key(
        &self,
        credential: &str,
        request: ApiKeyRequest,
    ) -> Result<CreatedApiKey, AccountError> {
        let user_id = request.user_id;
        let requirement = Requirement::to_act_on(user_id);
        let actor = self
            .authorizer
            .authorize_person(credential, &requirement)
            .await?;
        let user = self.find_user_or_actor(user_id, &actor).await?;
        if user_id.is_some() && user.role == Role::ADMIN {
            return Err(WriteError::UserIsAdmin.into());
        }
        let new = self.generate_api_key(request, &actor, &user)?;
        let key = new.token.clone();
        let create = TokenChange::Create {
            user_id: user.id,
            kind: TokenKind::ApiKey,
            created_at: actor.at,
            tokens: vec![new],
        };
        let by = Principal::acting_on(user_id, actor);
        let inserted = self
            .changes
            .apply_to_tokens(by, create, Some(user.username))
            .await
            .and_then(|keys| keys.into_iter().next().ok_or(WriteError::ApiKeyLimit));
        let otherwise = match user_id {
            Some(_) => Reason::UserNotFound,
            None => Reason::TokenInvalid,
        };
        let stored = self
            .authorizer
            .reauthorize_if_changed(inserted, credential, &requirement, otherwise)
            .await?;
        Ok(CreatedApiKey { key, stored })
    }

    /// Checks the arguments of a new key, and generates the key.
    fn generate_api_key(
        &self,
        request: ApiKeyRequest,
        actor: &Actor,
        user: &User,
    ) -> Result<NewToken, AccountError> {
        check_name(TokenKind::ApiKey, &request.name)?;
        let created_at = actor.at;
        let expires_at = request
            .expires_at
            .map(|at| check_key_expiry(at, created_at))
            .transpose()?;
        let is_for_other = request.user_id.is_some();
        let role = request
            .role
            .map(|role| self.policy.require_known_role(role))
            .transpose()?;
        if is_for_other && matches!(role, None | Some(Role::ADMIN)) {
            return Err(Reason::RoleInvalid.into());
        }
        let details = TokenDetails::ApiKey {
            role,
            created_by: is_for_other.then(|| actor.user.username.clone()),
        };
        let mut new = NewToken::generate(
            SecretKind::ApiKey,
            user.id,
            request.name,
            created_at,
            details,
        )
        .map_err(AccountError::internal)?;
        new.stored.expires_at = expires_at;
        Ok(new)
    }

    /// Returns the user with this id, or the actor if there is no id.
    async fn find_user_or_actor(
        &self,
        user_id: Option<i64>,
        actor: &Actor,
    ) -> Result<User, AccountError> {
        match user_id {
            Some(id) => self.authorizer.find_user(id).await,
            None => Ok(actor.user.clone()),
        }
    }

    /// Lists the tokens of the actor. With a user id, lists the tokens of that user; the actor must
    /// then be an admin.
    pub(crate) async fn list_tokens(
        &self,
        kind: TokenKind,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<ListedTokens, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let user = self.find_user_or_actor(user_id, &actor).await?;
        let tokens = self.store.tokens_of_user(kind, user.id).await?;
        Ok(ListedTokens {
            actor,
            user,
            read_at: tokens.at,
            tokens: tokens.value,
        })
    }

    /// Deletes tokens of the actor, and returns them. With a user id, deletes tokens of that user;
    /// the actor must then be an admin. Fails if a single token is to be deleted and does not
    /// exist. All sessions are those except for the one that the actor presented.
    ///
    /// An API key may delete no token of its own user except itself, so that a leaked key can do
    /// little harm.
    pub(crate) async fn delete_tokens(
        &self,
        kind: TokenKind,
        credential: &str,
        user_id: Option<i64>,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let deletes_itself = kind == TokenKind::ApiKey
            && actor
                .key_id()
                .is_some_and(|own| selection == TokenSelection::One(own));
        if !deletes_itself {
            actor.refuse_own_key(user_id.unwrap_or(actor.user.id))?;
        }
        let deleted = self
            .delete_tokens_by(actor, kind, user_id, selection)
            .await?;
        if deleted.is_empty() && selection != TokenSelection::All {
            return Err(match kind {
                TokenKind::ApiKey => Reason::ApiKeyNotFound,
                TokenKind::Session => Reason::SessionNotFound,
            }
            .into());
        }
        Ok(deleted)
    }

    /// Deletes tokens for an actor who is already authorized to delete them, and returns them.
    pub(super) async fn delete_tokens_by(
        &self,
        actor: Actor,
        kind: TokenKind,
        user_id: Option<i64>,
        selection: TokenSelection,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let selection = match (selection, kind, actor.session_id()) {
            (TokenSelection::All, TokenKind::Session, Some(own)) => TokenSelection::AllBut(own),
            _ => selection,
        };
        let change = TokenChange::Delete {
            kind,
            user_id: user_id.unwrap_or(actor.user.id),
            selection,
        };
        let by = Principal::acting_on(user_id, actor);
        Ok(self.changes.apply_to_tokens(by, change, None).await?)
    }
}

/// Checks the name of a new token. It must have 1 to 100 characters, fit on one line, and contain
/// no white space or invisible characters that make it look like another name.
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
    Err(match kind {
        TokenKind::ApiKey => AccountError::invalid(
            Reason::ApiKeyInvalid,
            format!("API key name must {broken}."),
        ),
        TokenKind::Session => AccountError::invalid(
            Reason::SessionInvalid,
            format!("Session name must {broken}."),
        ),
    })
}

/// Checks that a new key expires in the future, and returns the time of expiry. All times are in
/// Unix seconds.
pub(crate) fn check_key_expiry(expires_at: i64, now: u64) -> Result<u64, AccountError> {
    let broken = |rule: &'static str| AccountError::invalid(Reason::ApiKeyInvalid, rule);
    // RFC 3339 has no notation for later times.
    if expires_at > END_OF_9999 {
        return Err(broken("API key expiry must be before the year 10000."));
    }
    match u64::try_from(expires_at) {
        Ok(time) if time > now => Ok(time),
        _ => Err(broken("API key expiry must be in the future.")),
    }
}
