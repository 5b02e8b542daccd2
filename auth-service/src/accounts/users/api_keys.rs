//! Creates and lists API keys.

use super::Users;
use crate::{
    accounts::{
        changes::CreatedApiKey, error::AccountError, policy::Requirement, token_name::check_name,
    },
    actor::Actor,
    principal::Principal,
    store::WriteError,
    tokens::{NewToken, OpaqueToken, SecretKind, TokenDetails, TokenKind},
    user::User,
};
use rolegate_proto::{Reason, Role, UnknownRole, time::END_OF_9999};

/// A request for a new API key.
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

impl Users {
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
        let by = Principal::acting_on(user_id, actor);
        let created = self.changes.create_api_key(by, new, user.username).await;
        let otherwise = match user_id {
            Some(_) => Reason::UserNotFound,
            None => Reason::TokenInvalid,
        };
        self.authorizer
            .reauthorize_if_changed(created, credential, &requirement, otherwise)
            .await
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

    /// Lists the API keys of the actor. With a user id, lists the API keys of that user; the actor
    /// must then be an admin.
    pub(crate) async fn list_api_keys(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<Vec<OpaqueToken>, AccountError> {
        let actor = self
            .authorizer
            .authorize(credential, &Requirement::to_act_on(user_id))
            .await?;
        let user = self.find_user_or_actor(user_id, &actor).await?;
        let keys = self
            .store
            .tokens_of_user(TokenKind::ApiKey, user.id)
            .await?;
        Ok(keys.value)
    }
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
