//! Serves `POST /sessions`, which checks a username and a password and creates a session.

use crate::{
    endpoints::{
        Created, accounts::InvalidCredentials, api_keys::creation::name_schema, created, rfc3339,
    },
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttemptsOrAdditions},
    state::GatewayState,
};
use axum::{Extension, extract::State};
use http::{HeaderMap, header::USER_AGENT};
use rolegate_auth_client::{
    CallContext, CallError, SessionUse, SignInStep, TwoStepSignIn, axum::ApiError,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The maximum number of bytes of a `User-Agent` that are passed on. auth-service keeps at most 256 of them, so it
/// drops a character that this limit cut.
const MAX_USER_AGENT_LEN: usize = 260;

/// The credentials of a user, and a name for the session.
#[derive(Deserialize, ToSchema)]
#[expect(clippy::option_option, reason = "so that it may be null")]
pub(crate) struct SessionCreationRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
    #[schema(schema_with = name_schema, required = false)]
    name: Option<String>,
    /// A one-time code or a recovery code. It is required if the user's second factor is on.
    #[schema(value_type = Option<String>, required = false, example = "123456")]
    otp: Option<Option<SecretString>>,
}

/// A new session with its token, which is shown only in this response.
#[derive(Serialize, ToSchema)]
#[schema(as = NewSession)]
pub(crate) struct NewSessionResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    /// The token of the session. Send it as `Authorization: Bearer <token>`.
    #[schema(example = "rgs_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: String,
    /// When the session expires, even if it is used.
    #[schema(format = DateTime, example = "2026-12-21T06:00:00.000Z")]
    expires_at: String,
    /// When the session expires if it is not used before.
    #[schema(format = DateTime, example = "2026-11-21T18:00:00.000Z")]
    idle_expires_at: String,
}

/// Create a session
///
/// Verifies a username and a password, as `POST /login` does, and returns the token of a session. Anyone may call this
/// endpoint. Send the token wherever an access token is accepted.
///
/// A session lasts longer than an access token, and can be ended by itself: every request checks whether it has ended.
/// A user has at most 100 sessions. A new one then replaces the session that has been idle longest.
#[utoipa::path(
    post,
    path = "/sessions",
    request_body = SessionCreationRequest,
    responses(
        (status = 201, description = "The new session.",
            body = NewSessionResponse,
            headers(("Location" = String, description = "`/profile/sessions/{session_id}`"))),
        (status = 400, description = "The name breaks a rule, or the request body is malformed.",
            body = ErrorBody, example = "Session name must have 1 to 100 characters."),
        InvalidCredentials,
        TooManyAttemptsOrAdditions
    )
)]
pub(crate) async fn create_session(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SessionCreationRequest>,
) -> Result<Created<NewSessionResponse>, ApiError> {
    let otp = request.otp.flatten();
    let user_agent = user_agent(&headers);
    let call = state.auth.create_session(
        &request.username,
        &request.password,
        otp.as_ref().map(ExposeSecret::expose_secret),
        request.name,
        user_agent.as_deref(),
        SessionUse::Api,
        TwoStepSignIn::default(),
        context,
    );
    let step = state.refusals.run_login(context, call).await?;
    let SignInStep::Done(session) = step else {
        return Err(CallError::Malformed.into());
    };
    let path = format!("/profile/sessions/{}", session.id);
    let response = NewSessionResponse {
        id: session.id,
        token: session.token.expose_secret().to_owned(),
        expires_at: rfc3339(session.expires_at),
        idle_expires_at: rfc3339(session.idle_expires_at),
    };
    Ok(created(path, response))
}

/// Returns the header `User-Agent`, cut to [`MAX_USER_AGENT_LEN`] bytes, or `None` if the client sent none. Bytes that
/// are not UTF-8 become U+FFFD.
pub(crate) fn user_agent(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let agent = headers.get(USER_AGENT)?.as_bytes();
    let end = agent.len().min(MAX_USER_AGENT_LEN);
    Some(String::from_utf8_lossy(&agent[..end]))
}
