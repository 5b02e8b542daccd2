//! `POST /profile/keys`.

use super::{api_key_response::NewApiKeyResponse, role_name::RoleName};
use crate::{
    extract::{json_body::JsonBody, personal_token::PersonalToken, rfc3339},
    openapi::responses::{AccessTokenNeeded, ErrorBody},
};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::{StatusCode, header::LOCATION};
use rolegate_auth_client::{ApiKeyInput, AuthClient, CallContext, axum::ApiError};
use serde::Deserialize;
use utoipa::ToSchema;

/// A new API key.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ApiKeyCreationRequest {
    /// What the key is for, on one line. Need not be unique.
    #[schema(
        min_length = 1,
        max_length = 100,
        pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$",
        example = "nightly export"
    )]
    name: String,
    /// When it ends: RFC 3339, in the future. Never if it is missing.
    #[schema(format = DateTime, value_type = String, required = false,
        example = "2030-01-31T00:00:00Z")]
    expires_at: Option<String>,
    /// The highest role that it grants. The user's if it is missing.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

/// Create an API key
///
/// For a program that acts as the current user, with the lower of the user's role and the key's. The
/// response shows the key, which cannot be shown again. A user has at most 50.
#[utoipa::path(
    post,
    path = "/profile/keys",
    tag = "API keys",
    security(("bearer" = [])),
    request_body(content = ApiKeyCreationRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 201,
            description = "The new API key.",
            body = NewApiKeyResponse,
            headers(("Location" = String, description = "`/profile/keys/{key_id}`"))
        ),
        (
            status = 400,
            description = "The name or the expiry breaks a rule, the role does not exist, the user has \
                           50 API keys, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "A user can have at most 50 API keys."})
        ),
        AccessTokenNeeded
    )
)]
pub(crate) async fn create_api_key(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    PersonalToken { token, .. }: PersonalToken,
    JsonBody(request): JsonBody<ApiKeyCreationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let ApiKeyCreationRequest { name, expires_at, role } = request?;
    let expires_at =
        expires_at.map(|text| rfc3339::parse_field("expires_at", &text)).transpose()?;
    // auth-service rejects an unknown role, because the rules of the name come first.
    let role = role.map(|role| role.parse().ok());
    let input = ApiKeyInput { name, role, expires_at };
    let (key, api_key) = auth.create_api_key(&token, input, context).await?;
    let location = [(LOCATION, format!("/profile/keys/{}", api_key.id))];
    Ok((StatusCode::CREATED, location, Json(NewApiKeyResponse::new(&key, api_key))))
}
