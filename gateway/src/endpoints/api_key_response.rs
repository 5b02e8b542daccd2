//! API keys in responses.

use super::role_name::RoleName;
use humantime::format_rfc3339_millis;
use rolegate_auth_client::{ApiKey, CallError, Reason, Role, axum::ApiError};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use std::time::SystemTime;
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
    role: Option<&'static str>,
    /// RFC 3339 in UTC, to the second, as the times below.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// Null for never.
    #[schema(format = DateTime, required, example = "2030-01-31T00:00:00.000Z")]
    expires_at: Option<String>,
    /// Up to a minute late; null for never.
    #[schema(format = DateTime, required, example = "2026-11-22T06:00:00.000Z")]
    last_used_at: Option<String>,
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

impl From<ApiKey> for ApiKeyResponse {
    fn from(key: ApiKey) -> Self {
        let time = |time: SystemTime| format_rfc3339_millis(time).to_string();
        Self {
            id: key.id,
            name: key.name,
            prefix: key.prefix,
            role: key.role.map(Role::as_str),
            created_at: time(key.created_at),
            expires_at: key.expires_at.map(time),
            last_used_at: key.last_used_at.map(time),
        }
    }
}

impl NewApiKeyResponse {
    pub(crate) fn new(key: &SecretString, api_key: ApiKey) -> Self {
        Self { key: key.expose_secret().to_owned(), api_key: api_key.into() }
    }
}

impl From<Vec<ApiKey>> for ApiKeysResponse {
    fn from(keys: Vec<ApiKey>) -> Self {
        Self { keys: keys.into_iter().map(Into::into).collect() }
    }
}

/// The key with this id among those of a user.
pub(crate) fn find(keys: Vec<ApiKey>, key_id: i64) -> Result<ApiKeyResponse, ApiError> {
    let key = keys.into_iter().find(|key| key.id == key_id);
    let missing = || CallError::local(Reason::ApiKeyNotFound).into();
    key.map(Into::into).ok_or_else(missing)
}
