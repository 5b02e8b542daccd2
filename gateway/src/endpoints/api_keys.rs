//! API keys: of the current user at `/profile/keys`, and of any user, for admins, at
//! `/users/{user_id}/keys`.

use super::{
    Answer, Message, message, rfc3339,
    schemas::{self, RoleName},
};
use crate::{
    extract::{credentials::PersonalToken, json_body::ItemBody, parameters::PathIds},
    openapi::responses::{AccessTokenNeeded, ErrorBody, TooManyAdditions},
};
use axum::{Json, response::IntoResponse};
use http::{StatusCode, header::LOCATION};
use rolegate_auth_client::{
    ActingClient, ApiKey, ApiKeyInput, CallError, Reason,
    axum::{ApiError, CurrentUser},
};
use rolegate_proto::{http::HttpReason, time::parse_rfc3339};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An API key, without the key itself.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKey)]
pub(crate) struct ApiKeyResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    #[schema(example = "nightly export")]
    name: String,
    /// The first 8 characters of the key.
    #[schema(example = "rgk_Zm9v")]
    prefix: String,
    /// The highest role that the key grants, null for the user's.
    #[schema(value_type = Option<RoleName>, required)]
    role: Option<String>,
    /// RFC 3339 in UTC, to the second, as the times below.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// Null for never.
    #[schema(format = DateTime, required, example = "2030-01-31T00:00:00.000Z")]
    expires_at: Option<String>,
    /// Up to a minute late; null for never.
    #[schema(format = DateTime, required, example = "2026-11-22T06:00:00.000Z")]
    last_used_at: Option<String>,
    /// The admin who created it for the user; missing if the user or an operator did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, required = false, example = "admin")]
    created_by: Option<String>,
}

impl From<ApiKey> for ApiKeyResponse {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id,
            name: key.name,
            prefix: key.prefix,
            role: key.role.map(|role| role.to_string()),
            created_at: rfc3339(key.created_at),
            expires_at: key.expires_at.map(rfc3339),
            last_used_at: key.last_used_at.map(rfc3339),
            created_by: key.created_by,
        }
    }
}

/// A new API key. The key is shown only here.
#[derive(Serialize, ToSchema)]
#[schema(as = NewApiKey)]
pub(crate) struct NewApiKeyResponse {
    /// To be sent as `Authorization: Bearer <key>`.
    #[schema(example = "rgk_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    key: String,
    #[serde(flatten)]
    api_key: ApiKeyResponse,
}

/// All API keys of a user, by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ApiKeys)]
pub(crate) struct ApiKeysResponse {
    keys: Vec<ApiKeyResponse>,
}

/// A new API key.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ApiKeyCreationRequest {
    #[schema(schema_with = schemas::label)]
    name: String,
    /// When it ends: RFC 3339, in the future. Never if it is missing.
    #[schema(format = DateTime, value_type = String, required = false,
        example = "2030-01-31T00:00:00Z")]
    expires_at: Option<String>,
    /// The highest role that it grants. The user's if it is missing; for another user, it is required and
    /// not `admin`.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

/// Create an API key of the current user
///
/// For a program that acts as the user, with the lower of the user's role and the key's. The
/// response shows the key, which cannot be shown again. A user has at most 50.
#[utoipa::path(
    post,
    path = "/profile/keys",
    request_body = ApiKeyCreationRequest,
    responses(
        (status = 201, description = "The new API key.",
            body = NewApiKeyResponse,
            headers(("Location" = String, description = "The path of the key."))),
        (status = 400, description = "The name or the expiry breaks a rule, the role does not \
                                      exist or may not be used, the user has 50 API keys, or the \
                                      request body is malformed.",
            body = ErrorBody, example = "A user can have at most 50 API keys."),
        AccessTokenNeeded,
        TooManyAdditions
    )
)]
pub(crate) async fn create_api_key(
    PersonalToken { client, .. }: PersonalToken,
    ItemBody(ids, request): ItemBody<ApiKeyCreationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let ApiKeyCreationRequest {
        name,
        expires_at,
        role,
    } = request;
    let user_id = ids.get("user_id");
    let field = |detail| ApiError::http(HttpReason::FieldInvalid, detail);
    if user_id.is_some() && role.is_none() {
        return Err(field("Field \"role\" is required and must be a string."));
    }
    let time = |text: String| {
        let detail =
            "Field \"expires_at\" must be a time in RFC 3339, such as 2030-01-31T00:00:00Z.";
        parse_rfc3339(&text).ok_or_else(|| field(detail))
    };
    let expires_at = expires_at.map(time).transpose()?;
    // auth-service rejects an unknown role, because the rules of the name come first.
    let role = role.map(|role| role.parse().ok());
    let (key, api_key) = client
        .create_api_key(
            user_id,
            ApiKeyInput {
                name,
                role,
                expires_at,
            },
        )
        .await?;
    let owner = user_id.map_or_else(|| "/profile".to_owned(), |id| format!("/users/{id}"));
    let location = [(LOCATION, format!("{owner}/keys/{}", api_key.id))];
    let key = key.expose_secret().to_owned();
    let response = NewApiKeyResponse {
        key,
        api_key: api_key.into(),
    };
    Ok((StatusCode::CREATED, location, Json(response)))
}

/// List the API keys of the current user
#[utoipa::path(get, path = "/profile/keys", responses((status = 200, body = ApiKeysResponse)))]
pub(crate) async fn list_own_keys(client: ActingClient, ids: PathIds) -> Answer<ApiKeysResponse> {
    let keys = client.list_api_keys(ids.get("user_id")).await?;
    Ok(Json(ApiKeysResponse {
        keys: keys.into_iter().map(Into::into).collect(),
    }))
}

/// Get an API key of the current user
#[utoipa::path(
    get,
    path = "/profile/keys/{key_id}",
    responses((status = 200, body = ApiKeyResponse))
)]
pub(crate) async fn get_own_key(
    // Rejects an invalid token before the path is checked.
    _: CurrentUser,
    client: ActingClient,
    ids: PathIds,
) -> Answer<ApiKeyResponse> {
    let keys = client.list_api_keys(ids.get("user_id")).await?;
    let key = keys
        .into_iter()
        .find(|key| Some(key.id) == ids.get("key_id"));
    Ok(Json(
        key.ok_or_else(|| CallError::local(Reason::ApiKeyNotFound))?
            .into(),
    ))
}

/// Delete an API key of the current user
#[utoipa::path(
    delete,
    path = "/profile/keys/{key_id}",
    responses(
        (status = 200, body = Message, example = "API key deleted."),
        (status = 403, description = "The caller presented another API key. Any `user`, `author` \
                                      or `admin` with an access token or session is admitted.",
            body = ErrorBody, example = "Insufficient privileges.")
    )
)]
pub(crate) async fn delete_own_key(
    _: CurrentUser,
    client: ActingClient,
    ids: PathIds,
) -> Answer<Message> {
    let key_id = ids.get("key_id").unwrap_or(0);
    client
        .delete_api_keys(ids.get("user_id"), Some(key_id))
        .await?;
    Ok(message("API key deleted."))
}

/// Delete all API keys of the current user
#[utoipa::path(
    delete,
    path = "/profile/keys",
    responses((status = 200, body = Message, example = "API keys deleted."), AccessTokenNeeded)
)]
pub(crate) async fn delete_own_keys(client: ActingClient, ids: PathIds) -> Answer<Message> {
    client.delete_api_keys(ids.get("user_id"), None).await?;
    Ok(message("API keys deleted."))
}
