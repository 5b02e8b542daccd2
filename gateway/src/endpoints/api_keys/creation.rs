//! Creates API keys.

use super::ApiKeyResponse;
use crate::{
    endpoints::{
        CURRENT_USER, Created, created,
        groups::GroupName,
        users::{RoleName, UserNotFound, UserPath},
    },
    extract::{
        credentials::PersonalToken,
        json_body::{JsonBody, PathIdsAndBody, invalid_field, parse_time_field},
    },
    openapi::responses::{
        AdminTokenRequired, PersonalTokenRequired, TooManyAdditions, error_response,
    },
};
use rolegate_auth_client::{ActingClient, axum::ApiError};
use rolegate_proto::auth_v1::{CreateApiKeyRequest, GroupNames};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

/// The API key to create.
#[derive(Deserialize, ToSchema)]
#[expect(clippy::option_option, reason = "missing and null mean the same here")]
pub(crate) struct ApiKeyCreationRequest {
    #[schema(schema_with = name_schema)]
    name: String,
    /// When the key expires, as RFC 3339. The time must be in the future. If it is missing, the key never expires.
    #[schema(format = DateTime, value_type = String, required = false,
        example = "2030-01-31T00:00:00Z")]
    expires_at: Option<String>,
    /// The highest role that the key grants. If it is missing, the key always has the user's role. For another user's
    /// key, it is required and must not be `admin`.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
    /// The groups that the key has, as far as its user is in them. If it is missing or null, a key with a role has no
    /// groups, and a key without a role has those of its user.
    #[schema(value_type = Option<Vec<GroupName>>, required = false, max_items = 100)]
    groups: Option<Option<Vec<String>>>,
}

/// Returns the schema of the names of API keys and sessions. A schema can express only some of the rules, and
/// auth-service checks all of them.
pub(in crate::endpoints) fn name_schema() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "What the API key or the session is for, in one line. Names need not be unique.",
        ))
        .min_length(Some(1))
        .max_length(Some(100))
        .pattern(Some(r"^[^\u0000-\u001f\u007f-\u009f]*$"))
        .examples([json!("nightly export")])
        .build()
}

/// A new API key with its secret, which is shown only in this response.
#[derive(Serialize, ToSchema)]
#[schema(as = NewApiKey)]
pub(crate) struct NewApiKeyResponse {
    /// The secret. Send it as `Authorization: Bearer <key>`.
    #[schema(example = "rgk_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    key: String,
    #[serde(flatten)]
    api_key: ApiKeyResponse,
}

error_response! {
    /// The error for an [`ApiKeyCreationRequest`] that breaks a rule.
    InvalidApiKey = 400,
    "The name or the expiry breaks a rule, the role or a group does not exist or may not be used, the key is \
     for another admin, the user already has 50 API keys, or the request body is malformed.",
    ["A user can have at most 50 API keys."]
}

/// Create an API key for the current user
///
/// An API key is for a program that acts as the user, with the lower one of the user's role and the key's. Store the
/// key from the response, because it cannot be shown again. A user has at most 50 keys.
///
/// Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    post,
    path = "/profile/keys",
    operation_id = "create_api_key",
    request_body = ApiKeyCreationRequest,
    responses(
        (status = 201, description = "The new API key.",
            body = NewApiKeyResponse,
            headers(("Location" = String, description = "The path of the key."))),
        InvalidApiKey,
        PersonalTokenRequired,
        TooManyAdditions
    )
)]
pub(crate) async fn create_own_key(
    PersonalToken { client, .. }: PersonalToken,
    JsonBody(request): JsonBody<ApiKeyCreationRequest>,
) -> Result<Created<NewApiKeyResponse>, ApiError> {
    create_key(&client, CURRENT_USER, request).await
}

/// Create an API key for a user
///
/// An API key is for a program that acts as the user, with the lower one of the user's role and the key's. Store the
/// key from the response, because it cannot be shown again. A user has at most 50 keys.
///
/// Only admins may call this endpoint, and not with an API key. The user must not be an admin.
#[utoipa::path(
    post,
    path = "/users/{user_id}/keys",
    params(UserPath),
    request_body = ApiKeyCreationRequest,
    responses(
        (status = 201, description = "The new API key.",
            body = NewApiKeyResponse,
            headers(("Location" = String, description = "The path of the key."))),
        InvalidApiKey,
        AdminTokenRequired,
        UserNotFound,
        TooManyAdditions
    )
)]
pub(crate) async fn create_user_key(
    PersonalToken { client, .. }: PersonalToken,
    PathIdsAndBody(UserPath { user_id }, request): PathIdsAndBody<UserPath, ApiKeyCreationRequest>,
) -> Result<Created<NewApiKeyResponse>, ApiError> {
    if request.role.is_none() {
        return Err(invalid_field(
            "Field \"role\" is required and must be a string.",
        ));
    }
    create_key(&client, Some(user_id), request).await
}

/// Creates a key for a user, or for the current user if `user_id` is [`CURRENT_USER`]. Returns the response, with the
/// secret in its body and the path of the key in `Location`.
async fn create_key(
    client: &ActingClient,
    user_id: Option<i64>,
    request: ApiKeyCreationRequest,
) -> Result<Created<NewApiKeyResponse>, ApiError> {
    let creation = CreateApiKeyRequest {
        user_id,
        name: request.name,
        // auth-service rejects an unknown role, after it has checked the name of the key.
        role_name: request.role,
        groups: request.groups.flatten().map(|names| GroupNames { names }),
        expires_at: request
            .expires_at
            .map(|text| parse_time_field("expires_at", &text))
            .transpose()?,
        ..CreateApiKeyRequest::default()
    };
    let (key, api_key) = client.create_api_key(creation).await?;
    let path = match user_id {
        Some(user_id) => format!("/users/{user_id}/keys/{}", api_key.id),
        None => format!("/profile/keys/{}", api_key.id),
    };
    let response = NewApiKeyResponse {
        key: key.expose_secret().to_owned(),
        api_key: api_key.try_into()?,
    };
    Ok(created(path, response))
}
