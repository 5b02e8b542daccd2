//! `POST /login`.

use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use utoipa::ToSchema;

/// Who somebody says to be.
#[derive(ToSchema)]
pub(crate) struct LoginRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
}

/// The access token and how to present it (RFC 6750).
#[derive(Serialize, ToSchema)]
#[schema(as = Login)]
pub(crate) struct LoginResponse {
    /// A JWT, good for 30 minutes.
    #[schema(example = "eyJhbGciOiJIUzI1NiIs...")]
    access_token: String,
    #[schema(pattern = "^bearer$", example = "bearer")]
    token_type: &'static str,
}

impl LoginRequest {
    fn read(mut body: JsonBody) -> Result<Self, ApiError> {
        Ok(Self { username: body.text("username")?, password: body.secret("password")? })
    }
}

/// Log in
///
/// The answer to an unknown username is that to a wrong password.
#[utoipa::path(
    post,
    path = "/login",
    tag = "Accounts",
    request_body(content = LoginRequest, description = "At most 64 KiB."),
    responses(
        (status = 200, body = LoginResponse),
        (
            status = 401,
            description = "Unknown username or wrong password.",
            headers(("WWW-Authenticate" = String, description = "`Bearer`")),
            body = ErrorBody,
            example = json!({"detail": "Invalid username or password."})
        ),
        TooManyAttempts
    )
)]
pub(crate) async fn login(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    body: JsonBody,
) -> Result<Json<LoginResponse>, ApiError> {
    let LoginRequest { username, password } = LoginRequest::read(body)?;
    let (access_token, _) = auth.login(&username, &password, context).await?;
    Ok(Json(LoginResponse {
        access_token: access_token.expose_secret().to_owned(),
        token_type: "bearer",
    }))
}
