//! `POST /login`.

use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
    refusals::Refusals,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Login credentials.
#[derive(Deserialize, ToSchema)]
pub(crate) struct LoginRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
}

/// An access token and its type (RFC 6750).
#[derive(Serialize, ToSchema)]
#[schema(as = Login)]
pub(crate) struct LoginResponse {
    /// A JWT, valid for 30 minutes.
    #[schema(example = "eyJhbGciOiJIUzI1NiIs...")]
    access_token: String,
    #[schema(pattern = "^bearer$", example = "bearer")]
    token_type: &'static str,
}

/// Log in
///
/// An unknown username and a wrong password get the same response.
#[utoipa::path(
    post,
    path = "/login",
    tag = "Accounts",
    request_body(content = LoginRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = LoginResponse),
        (
            status = 401,
            description = "The username is unknown or the password is wrong.",
            headers(("WWW-Authenticate" = String, description = "`Bearer`")),
            body = ErrorBody,
            example = json!({"detail": "Invalid username or password."})
        ),
        TooManyAttempts
    )
)]
pub(crate) async fn login(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    JsonBody(request): JsonBody<LoginRequest>,
) -> Result<Json<LoginResponse>, ApiError> {
    let LoginRequest { username, password } = request?;
    let call = auth.login(&username, &password, context);
    let (token, _) = refusals.login(context, &username, call).await?;
    let access_token = token.expose_secret().to_owned();
    Ok(Json(LoginResponse { access_token, token_type: "bearer" }))
}
