//! Keeps the API keys of the fake: user 1 has the key 1, `rgk_user`, with the role `user`.

use super::users::{error, role, user_of_id, user_of_token};
use prost_types::Timestamp;
use rolegate_auth_client::Reason;
use rolegate_proto::{
    Role,
    auth_v1::{
        ApiKey, CreateApiKeyRequest, CreateApiKeyResponse, DeleteApiKeysRequest,
        DeleteApiKeysResponse, ListApiKeysRequest, ListApiKeysResponse, RevokeTokensRequest,
        RevokeTokensResponse, User, delete_api_keys_request::Keys,
    },
    metadata,
};
use tonic::{Request, Status};

/// Returns the credential of the actor.
pub(super) fn token<M>(request: &Request<M>) -> &str {
    let header = request.metadata().get(metadata::AUTHORIZATION);
    let token = header.and_then(|header| header.to_str().ok()?.strip_prefix("Bearer "));
    token.unwrap_or_default()
}

/// Returns the user that a call is about, if the actor may make the call.
pub(super) fn target<M>(request: &Request<M>, user_id: Option<i64>) -> Result<User, Status> {
    let actor = user_of_token(token(request)).map_err(|reason| error(reason, ""))?;
    match user_id {
        Some(_) if actor.role_name != Role::ADMIN.as_str() => {
            Err(error(Reason::RoleInsufficient, ""))
        }
        Some(id) => user_of_id(id),
        None => Ok(actor),
    }
}

fn keys_of(user: &User) -> Vec<ApiKey> {
    let key = ApiKey {
        id: 1,
        user_id: 1,
        name: "nightly export".to_owned(),
        prefix: "rgk_user".to_owned(),
        role: Some(Role::USER.response_number()),
        role_name: Some(Role::USER.to_string()),
        created_by: None,
        created_at: Some(Timestamp {
            seconds: 1,
            nanos: 0,
        }),
        expires_at: None,
        last_used_at: None,
    };
    if user.id == 1 { vec![key] } else { Vec::new() }
}

pub(super) fn revoke_tokens(
    request: &Request<RevokeTokensRequest>,
) -> Result<RevokeTokensResponse, Status> {
    let RevokeTokensRequest {
        user_id,
        cookie_sessions,
        ..
    } = request.get_ref();
    if cookie_sessions.iter().any(|token| token == "rgs_down") {
        return Err(error(Reason::StoreUnavailable, ""));
    }
    // The fake answers `rgs_before` like a replica of the previous release, which reads only the session of the actor.
    if !cookie_sessions.is_empty() && !cookie_sessions.iter().any(|it| it == "rgs_before") {
        return Ok(RevokeTokensResponse {
            user: None,
            cookie_sessions_ended: true,
        });
    }
    Ok(RevokeTokensResponse {
        user: Some(target(request, *user_id)?),
        cookie_sessions_ended: false,
    })
}

pub(super) fn create(
    request: &Request<CreateApiKeyRequest>,
) -> Result<CreateApiKeyResponse, Status> {
    let CreateApiKeyRequest {
        name,
        role_name,
        user_id,
        expires_at,
        ..
    } = request.get_ref().clone();
    let owner = target(request, user_id)?;
    match (name.as_str(), role_name.as_deref(), user_id) {
        (_, _, Some(_)) if owner.role_name == "admin" => {
            return Err(error(
                Reason::ApiKeyInvalid,
                "An admin creates their own API keys.",
            ));
        }
        ("", ..) => return Err(error(Reason::ApiKeyInvalid, "API key name must be longer.")),
        (_, Some("admin"), Some(_)) => return Err(error(Reason::RoleInvalid, "")),
        (_, Some(name), _) => _ = role(name)?,
        ("one too many", ..) => return Err(error(Reason::ApiKeyLimit, "")),
        _ => {}
    }
    let stored = keys_of(&user_of_id(1)?).pop().unwrap_or_default();
    let created_by = user_id.map(|_| "admin".to_owned());
    // The previous release creates every key for the actor.
    let user_id = if name == "of the actor" { 3 } else { owner.id };
    let stored = ApiKey {
        user_id,
        created_by,
        ..stored
    };
    let api_key = Some(ApiKey {
        name,
        role: None,
        role_name,
        expires_at,
        ..stored
    });
    Ok(CreateApiKeyResponse {
        key: "rgk_user".to_owned(),
        api_key,
    })
}

pub(super) fn list(request: &Request<ListApiKeysRequest>) -> Result<ListApiKeysResponse, Status> {
    let user = target(request, request.get_ref().user_id)?;
    Ok(ListApiKeysResponse {
        api_keys: keys_of(&user),
    })
}

pub(super) fn delete(
    request: &Request<DeleteApiKeysRequest>,
) -> Result<DeleteApiKeysResponse, Status> {
    let mut api_keys = keys_of(&target(request, request.get_ref().user_id)?);
    if let Some(Keys::KeyId(id)) = request.get_ref().keys {
        api_keys.retain(|key| key.id == id);
        if api_keys.is_empty() {
            return Err(error(Reason::ApiKeyNotFound, ""));
        }
    }
    Ok(DeleteApiKeysResponse { api_keys })
}
