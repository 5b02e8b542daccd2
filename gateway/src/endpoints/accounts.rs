//! Registers users, logs them in and out, and tells a caller who they are.

use super::{
    CURRENT_USER, JsonResult, Message, message,
    passwords::password_schema,
    rfc3339,
    users::{RoleName, username_schema},
};
use crate::{
    extract::json_body::JsonBody,
    openapi::{
        responses::{ErrorBody, PersonalTokenRequired, TooManyAttempts},
        tags,
    },
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{ActingClient, CallContext, axum::CurrentUser};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use utoipa::{IntoResponses, ToSchema};

/// The username and password of a new user. Other fields, such as `role`, are ignored.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RegisterRequest {
    #[schema(schema_with = username_schema)]
    username: String,
    #[schema(schema_with = password_schema)]
    password: SecretString,
}

/// Register a user
///
/// Anyone may call this endpoint, unless registration is closed. The new user has the role `user` and is not logged in.
#[utoipa::path(
    post,
    path = "/register",
    tag = tags::ACCOUNTS,
    request_body = RegisterRequest,
    responses(
        (status = 200, body = Message, example = "User registered successfully."),
        (status = 400, description = "The username is taken, the username or password breaks a \
                                      rule, or the request body is malformed.",
            body = ErrorBody, example = "Username already exists."),
        (status = 403, description = "Registration is closed.",
            body = ErrorBody, example = "Registration is closed."),
        TooManyAttempts
    )
)]
pub(crate) async fn register(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(RegisterRequest { username, password }): JsonBody<RegisterRequest>,
) -> JsonResult<Message> {
    let call = state.auth.register(&username, &password, context);
    state.refusals.pace(context, call.await).await?;
    Ok(message("User registered successfully."))
}

/// The credentials of a user.
#[derive(Deserialize, ToSchema)]
#[expect(clippy::option_option, reason = "so that it may be null")]
pub(crate) struct LoginRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
    /// A one-time code or a recovery code. It is required if the user's second factor is on.
    #[schema(value_type = Option<String>, required = false, example = "123456")]
    otp: Option<Option<SecretString>>,
}

/// The response to a login with wrong credentials.
#[derive(IntoResponses)]
#[response(
    status = 401,
    description = "The username is unknown, the password is wrong, or the one-time code is missing or wrong.",
    headers(("WWW-Authenticate" = String, description = "`Bearer`")),
    example = json!("Invalid username or password.")
)]
#[expect(dead_code, reason = "describes a response and is never constructed")]
pub(super) struct InvalidCredentials(ErrorBody);

/// An access token and its type (RFC 6750).
#[derive(Serialize, ToSchema)]
#[schema(as = Login)]
pub(crate) struct LoginResponse {
    /// A JWT that is valid for 30 minutes. Send it as `Authorization: Bearer <access_token>`.
    #[schema(example = "eyJhbGciOiJIUzI1NiIs...")]
    access_token: String,
    #[schema(pattern = "^bearer$", example = "bearer")]
    token_type: &'static str,
}

/// Log in
///
/// Verifies a username and a password, and returns an access token. Anyone may call this endpoint. Send the token with
/// the following requests, and log in again when it has expired after 30 minutes.
///
/// An unknown username and a wrong password get the same response. If the user's second factor is on, `otp` is
/// required, and it is checked after the password.
#[utoipa::path(
    post,
    path = "/login",
    tag = tags::ACCOUNTS,
    request_body = LoginRequest,
    responses(
        (status = 200, body = LoginResponse),
        InvalidCredentials,
        TooManyAttempts
    )
)]
pub(crate) async fn login(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(request): JsonBody<LoginRequest>,
) -> JsonResult<LoginResponse> {
    let otp = request.otp.flatten();
    let call = state.auth.login(
        &request.username,
        &request.password,
        otp.as_ref().map(ExposeSecret::expose_secret),
        context,
    );
    let (token, _) = state.refusals.run_login(context, call).await?;
    Ok(Json(LoginResponse {
        access_token: token.expose_secret().to_owned(),
        token_type: "bearer",
    }))
}

/// Log out
///
/// Ends the session of this request. If the request has an access token, all access tokens and sessions of the user
/// end, because a single access token cannot be revoked. API keys stay valid.
///
/// Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    post,
    path = "/logout",
    tag = tags::ACCOUNTS,
    responses((status = 200, body = Message, example = "Logged out."), PersonalTokenRequired)
)]
pub(crate) async fn logout(client: ActingClient) -> JsonResult<Message> {
    client.revoke_tokens(CURRENT_USER).await?;
    Ok(message("Logged out."))
}

/// A welcome message for the current user, and the user's stored role.
#[derive(Serialize, ToSchema)]
pub(crate) struct Profile {
    #[schema(example = "Welcome ada!")]
    message: String,
    #[schema(value_type = RoleName)]
    role: String,
}

/// Get the current user's profile
///
/// Returns a welcome message and the user's stored role. Any user may call this endpoint.
#[utoipa::path(
    get,
    path = "/profile",
    tag = tags::ACCOUNTS,
    responses((status = 200, body = Profile))
)]
pub(crate) async fn profile(CurrentUser(user): CurrentUser) -> Json<Profile> {
    Json(Profile {
        message: format!("Welcome {}!", user.username),
        role: user.unknown_role.unwrap_or(user.role).to_string(),
    })
}

/// The user and the credential of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Me {
    #[schema(minimum = 1, example = 2)]
    id: i64,
    #[schema(example = "ada")]
    username: String,
    /// The role that the credential acts with. For an API key, this is the lower one of the key's role and the user's.
    #[schema(value_type = RoleName)]
    role: String,
    credential: Credential,
}

/// The credential of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct Credential {
    #[schema(pattern = "^(access_token|session|api_key)$", example = "session")]
    kind: String,
    /// When the credential expires at the latest, as RFC 3339 in UTC. Null if it never expires.
    #[schema(format = DateTime, required, example = "2026-12-21T06:00:00.000Z")]
    expires_at: Option<String>,
}

/// Get the current user and credential
///
/// Returns who the caller is, the role that the credential acts with, and when the credential expires. Any user may
/// call this endpoint.
#[utoipa::path(
    get,
    path = "/me",
    tag = tags::ACCOUNTS,
    responses((status = 200, body = Me))
)]
pub(crate) async fn me(client: ActingClient) -> JsonResult<Me> {
    let bearer = client.current_user().await?;
    let kind = bearer.kind.as_str_name();
    let credential = Credential {
        kind: kind
            .trim_start_matches("CREDENTIAL_KIND_")
            .to_ascii_lowercase(),
        expires_at: bearer.expires_at.map(rfc3339),
    };
    Ok(Json(Me {
        id: bearer.user.id,
        username: bearer.user.username,
        role: bearer.user.role.to_string(),
        credential,
    }))
}
