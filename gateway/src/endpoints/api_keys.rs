//! Lists and deletes API keys. The current user's keys are at `/profile/keys`. Admins reach the keys of any user at
//! `/users/{user_id}/keys`.
//!
//! Each pair of endpoints shares one function, whose `user_id` is [`CURRENT_USER`] or the id in the path.

pub(crate) mod creation;

use super::{
    CURRENT_USER, JsonResult, Message, convert_all,
    groups::GroupName,
    message, optional_rfc3339, required_rfc3339,
    users::{RoleName, UserNotFound, UserPath},
};
use crate::{
    extract::path_ids::PathIds,
    openapi::responses::{ErrorBody, PersonalTokenRequired, error_response},
};
use axum::Json;
use rolegate_auth_client::{ActingClient, CallError, Reason, Role, axum::CurrentUser};
use rolegate_proto::auth_v1::{
    AllApiKeys, ApiKey, DeleteApiKeysRequest, ListApiKeysRequest, delete_api_keys_request::Keys,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The id of a key in a path. In a path about any user, it follows a [`UserPath`].
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct KeyPath {
    /// The id of the API key, an integer.
    #[param(example = 1)]
    key_id: i64,
}

error_response! {
    /// The error if the current user has no such key.
    OwnKeyNotFound = 404, "The user has no API key with this id.", ["API key not found."]
}

error_response! {
    /// The error if there is no such user, or the user has no such key.
    UserKeyNotFound = 404,
    "No user has this id, or the user has no API key with this id.",
    ["User not found.", "API key not found."]
}

/// An API key, without its secret.
#[derive(Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub(crate) struct ApiKeyResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    #[schema(example = "nightly export")]
    name: String,
    /// The first 8 characters of the secret, by which people recognize the key.
    #[schema(example = "rgk_Zm9v")]
    prefix: String,
    /// The highest role that the key grants. Null if the key always has the user's role.
    #[schema(value_type = Option<RoleName>, required)]
    role: Option<String>,
    /// The groups that the key has, as far as its user is in them. Null if the key names no groups: a key with a role
    /// then has none, and a key without a role has those of its user.
    #[schema(value_type = Option<Vec<GroupName>>, required)]
    groups: Option<Vec<String>>,
    /// When the key was created, as RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// When the key expires. Null if it never expires.
    #[schema(format = DateTime, required, example = "2030-01-31T00:00:00.000Z")]
    expires_at: Option<String>,
    /// When the key was last used, up to a minute late. Null if it was never used.
    #[schema(format = DateTime, required, example = "2026-11-22T06:00:00.000Z")]
    last_used_at: Option<String>,
    /// The username of the admin who created the key for the user. Missing if the user or an operator created it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "admin")]
    created_by: Option<String>,
}

impl TryFrom<ApiKey> for ApiKeyResponse {
    type Error = CallError;

    /// Converts a key. An unreadable role is an error, because without a role the key would seem to grant more.
    fn try_from(key: ApiKey) -> Result<Self, CallError> {
        let role = match (key.role_name, key.role) {
            (None, None) => None,
            (name, number) => {
                let role =
                    Role::from_message(&name.unwrap_or_default(), number.unwrap_or_default());
                Some(role.map_err(|_| CallError::Malformed)?.to_string())
            }
        };
        Ok(Self {
            id: key.id,
            name: key.name,
            prefix: key.prefix,
            role,
            groups: key.groups.map(|groups| groups.names),
            created_at: required_rfc3339(key.created_at)?,
            expires_at: optional_rfc3339(key.expires_at)?,
            last_used_at: optional_rfc3339(key.last_used_at)?,
            created_by: key.created_by,
        })
    }
}

/// All API keys of a user, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = ApiKeys)]
pub(crate) struct ApiKeysResponse {
    keys: Vec<ApiKeyResponse>,
}

/// List the API keys of the current user
///
/// Returns all of the user's keys, without their secrets. Any user may call this endpoint.
#[utoipa::path(
    get,
    path = "/profile/keys",
    responses((status = 200, body = ApiKeysResponse))
)]
pub(crate) async fn list_own_keys(client: ActingClient) -> JsonResult<ApiKeysResponse> {
    list_keys(&client, CURRENT_USER).await
}

/// List the API keys of a user
///
/// Returns all of the user's keys, without their secrets. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users/{user_id}/keys",
    params(UserPath),
    responses((status = 200, body = ApiKeysResponse), UserNotFound)
)]
pub(crate) async fn list_user_keys(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<ApiKeysResponse> {
    list_keys(&client, Some(user_id)).await
}

async fn list_keys(client: &ActingClient, user_id: Option<i64>) -> JsonResult<ApiKeysResponse> {
    let response = client.send(ListApiKeysRequest { user_id }).await?;
    Ok(Json(ApiKeysResponse {
        keys: convert_all(response.api_keys)?,
    }))
}

/// Get an API key of the current user
///
/// Returns the key without its secret. Any user may call this endpoint.
#[utoipa::path(
    get,
    path = "/profile/keys/{key_id}",
    params(KeyPath),
    responses((status = 200, body = ApiKeyResponse), OwnKeyNotFound)
)]
pub(crate) async fn get_own_key(
    // Rejects an invalid token before the path is checked. On the routes for admins, the guard does this.
    _: CurrentUser,
    client: ActingClient,
    PathIds(KeyPath { key_id }): PathIds<KeyPath>,
) -> JsonResult<ApiKeyResponse> {
    get_key(&client, CURRENT_USER, key_id).await
}

/// Get an API key of a user
///
/// Returns the key without its secret. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users/{user_id}/keys/{key_id}",
    params(UserPath, KeyPath),
    responses((status = 200, body = ApiKeyResponse), UserKeyNotFound)
)]
pub(crate) async fn get_user_key(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
    PathIds(KeyPath { key_id }): PathIds<KeyPath>,
) -> JsonResult<ApiKeyResponse> {
    get_key(&client, Some(user_id), key_id).await
}

async fn get_key(
    client: &ActingClient,
    user_id: Option<i64>,
    key_id: i64,
) -> JsonResult<ApiKeyResponse> {
    let Json(ApiKeysResponse { keys }) = list_keys(client, user_id).await?;
    match keys.into_iter().find(|key| key.id == key_id) {
        Some(key) => Ok(Json(key)),
        None => Err(CallError::local(Reason::ApiKeyNotFound).into()),
    }
}

/// Delete an API key of the current user
///
/// The key is refused from the next request on. Any user may call this endpoint. An API key can delete itself, but no
/// other key.
#[utoipa::path(
    delete,
    path = "/profile/keys/{key_id}",
    params(KeyPath),
    responses(
        (status = 200, body = Message, example = "API key deleted."),
        (status = 403, description = "The caller presented another API key, not the one to delete. \
                                      With an access token or a session, any `user`, `author` or \
                                      `admin` may delete the key.",
            body = ErrorBody, example = "Insufficient privileges."),
        OwnKeyNotFound
    )
)]
pub(crate) async fn delete_own_key(
    // Rejects an invalid token before the path is checked. On the routes for admins, the guard does this.
    _: CurrentUser,
    client: ActingClient,
    PathIds(KeyPath { key_id }): PathIds<KeyPath>,
) -> JsonResult<Message> {
    delete_keys(&client, CURRENT_USER, Keys::KeyId(key_id)).await
}

/// Delete an API key of a user
///
/// The key is refused from the next request on. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/keys/{key_id}",
    params(UserPath, KeyPath),
    responses((status = 200, body = Message, example = "API key deleted."), UserKeyNotFound)
)]
pub(crate) async fn delete_user_key(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
    PathIds(KeyPath { key_id }): PathIds<KeyPath>,
) -> JsonResult<Message> {
    delete_keys(&client, Some(user_id), Keys::KeyId(key_id)).await
}

/// Delete all API keys of the current user
///
/// The keys are refused from the next request on. Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    delete,
    path = "/profile/keys",
    responses((status = 200, body = Message, example = "API keys deleted."), PersonalTokenRequired)
)]
pub(crate) async fn delete_own_keys(client: ActingClient) -> JsonResult<Message> {
    delete_keys(&client, CURRENT_USER, Keys::All(AllApiKeys {})).await
}

/// Delete all API keys of a user
///
/// The keys are refused from the next request on. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/keys",
    params(UserPath),
    responses((status = 200, body = Message, example = "API keys deleted."), UserNotFound)
)]
pub(crate) async fn delete_user_keys(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<Message> {
    delete_keys(&client, Some(user_id), Keys::All(AllApiKeys {})).await
}

async fn delete_keys(
    client: &ActingClient,
    user_id: Option<i64>,
    keys: Keys,
) -> JsonResult<Message> {
    let text = match keys {
        Keys::KeyId(_) => "API key deleted.",
        Keys::All(_) => "API keys deleted.",
    };
    let keys = Some(keys);
    client.send(DeleteApiKeysRequest { user_id, keys }).await?;
    Ok(message(text))
}

#[cfg(test)]
mod tests {
    use super::ApiKeyResponse;
    use prost_types::Timestamp;
    use rolegate_auth_client::CallError;
    use rolegate_proto::auth_v1;

    #[test]
    fn responses_that_cannot_be_shown_are_errors() {
        let created_at = Some(Timestamp {
            seconds: 1,
            nanos: 0,
        });
        let good = auth_v1::ApiKey {
            created_at,
            ..auth_v1::ApiKey::default()
        };
        assert!(ApiKeyResponse::try_from(good.clone()).is_ok());
        for bad in [
            auth_v1::ApiKey {
                created_at: None,
                ..good.clone()
            },
            auth_v1::ApiKey {
                role: Some(0),
                ..good.clone()
            },
            auth_v1::ApiKey {
                role: Some(4),
                ..good.clone()
            },
            auth_v1::ApiKey {
                expires_at: Some(Timestamp {
                    seconds: -1,
                    nanos: 0,
                }),
                ..good
            },
        ] {
            let key = ApiKeyResponse::try_from(bad);
            assert!(matches!(key, Err(CallError::Malformed)));
        }
    }
}
