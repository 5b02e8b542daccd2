//! Creates and lists API keys.

use super::Users;
use crate::{
    accounts::{
        access_end::check_key_expiry, changes::CreatedApiKey, error::AccountError,
        policy::Requirement, token_name::check_name,
    },
    actor::Actor,
    principal::Principal,
    store::WriteError,
    tokens::{NewToken, OpaqueToken, SecretKind, TokenDetails, TokenKind},
    user::User,
};
use rolegate_proto::{GroupName, Reason, Role, UnknownRole, limits::MAX_GROUPS};
use std::collections::BTreeSet;

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
    /// The groups that the key names; `None` if it names none.
    pub(crate) groups: Option<Vec<String>>,
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
        if let Err(WriteError::GroupNotFound) = created {
            return Err(unknown_group());
        }
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
        let groups = request.groups.as_deref().map(parse_groups).transpose()?;
        let details = TokenDetails::ApiKey {
            role,
            groups,
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

/// Parses the groups of a new key, and returns them in ascending order and each once. Whether they exist is checked
/// when the key is inserted.
pub(crate) fn parse_groups(names: &[String]) -> Result<Vec<GroupName>, AccountError> {
    if names.len() > MAX_GROUPS {
        return Err(AccountError::invalid(
            Reason::ApiKeyInvalid,
            "An API key can name at most 100 groups.",
        ));
    }
    let groups: Result<BTreeSet<GroupName>, _> = names.iter().map(|name| name.parse()).collect();
    let groups = groups.map_err(|_| unknown_group())?;
    Ok(groups.into_iter().collect())
}

fn unknown_group() -> AccountError {
    AccountError::invalid(
        Reason::ApiKeyInvalid,
        "API key groups must be names of groups.",
    )
}
