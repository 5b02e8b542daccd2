//! Sessions: how they begin, those of the current user at `/profile/sessions`, and those of any user, for
//! admins, at `/users/{user_id}/sessions`.

use super::{Answer, Message, message, rfc3339, schemas};
use crate::{
    extract::{json_body::JsonBody, parameters::PathIds},
    openapi::responses::{AccessTokenNeeded, ErrorBody, TooManyAttemptsOrAdditions},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::{
    HeaderMap, StatusCode,
    header::{LOCATION, USER_AGENT},
};
use rolegate_auth_client::{
    ActingClient, CallContext, CallError, NewSession, Session, SessionUse, SignInStep,
    TwoStepSignIn,
    axum::{ApiError, CurrentUser},
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// Bytes of a `User-Agent` that are read. auth-service keeps 256: a character that is cut here is beyond them.
const MAX_USER_AGENT: usize = 260;

/// A session, without its token.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    /// As it was given.
    #[schema(required, example = "phone")]
    name: Option<String>,
    /// RFC 3339 in UTC, to the second, as the times below.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// Up to a minute late; null for never.
    #[schema(format = DateTime, required, example = "2026-11-22T06:00:00.000Z")]
    last_used_at: Option<String>,
    /// The address that it was made from; null if it is unknown.
    #[schema(required, example = "203.0.113.9")]
    client_address: Option<String>,
    /// What the client called itself.
    #[schema(required, example = "Mozilla/5.0")]
    user_agent: Option<String>,
    /// When it ends, used or not.
    #[schema(format = DateTime, example = "2026-12-21T06:00:00.000Z")]
    expires_at: String,
    /// Whether it is the credential of this request.
    current: bool,
}

impl From<Session> for SessionResponse {
    fn from(session: Session) -> Self {
        Self {
            id: session.id,
            name: session.name,
            created_at: rfc3339(session.created_at),
            last_used_at: session.last_used_at.map(rfc3339),
            client_address: session.client_address,
            user_agent: session.user_agent,
            expires_at: rfc3339(session.expires_at),
            current: session.current,
        }
    }
}

/// A new session. The token is shown only here.
#[derive(Serialize, ToSchema)]
#[schema(as = NewSession)]
pub(crate) struct NewSessionResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    /// To be sent as `Authorization: Bearer <token>`.
    #[schema(example = "rgs_Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmE")]
    token: String,
    /// When it ends, used or not.
    #[schema(format = DateTime, example = "2026-12-21T06:00:00.000Z")]
    expires_at: String,
    /// When it ends unless it is used.
    #[schema(format = DateTime, example = "2026-11-21T18:00:00.000Z")]
    idle_expires_at: String,
}

/// All sessions of a user, by ascending id.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Sessions)]
pub(crate) struct SessionsResponse {
    sessions: Vec<SessionResponse>,
}

/// Login credentials, and a name for lists.
#[derive(Deserialize, ToSchema)]
#[expect(clippy::option_option, reason = "so that it may be null")]
pub(crate) struct SessionCreationRequest {
    #[schema(example = "ada")]
    username: String,
    #[schema(value_type = String, format = Password, example = "open sesame")]
    password: SecretString,
    #[schema(schema_with = schemas::label, required = false)]
    name: Option<String>,
    /// A one-time code or a recovery code, where the user's second factor is on.
    #[schema(value_type = Option<String>, required = false, example = "123456")]
    otp: Option<Option<SecretString>>,
}

/// Log in for longer
///
/// Makes a session. Its token stands wherever an access token does; every request checks whether it has
/// ended. Of more than 100 sessions of a user, those that have been idle longest end.
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
        (status = 401, description = "The username is unknown, the password is wrong, or the \
                                      one-time code is missing or wrong.",
            headers(("WWW-Authenticate" = String, description = "`Bearer`")), body = ErrorBody,
            example = "Invalid username or password."),
        TooManyAttemptsOrAdditions
    )
)]
pub(crate) async fn create_session(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<SessionCreationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let SessionCreationRequest {
        username,
        password,
        name,
        otp,
    } = request;
    let (agent, otp) = (user_agent(&headers), otp.flatten());
    let (agent, otp) = (
        agent.as_deref(),
        otp.as_ref().map(ExposeSecret::expose_secret),
    );
    let call = state.auth.create_session(
        &username,
        &password,
        otp,
        name,
        agent,
        SessionUse::Api,
        TwoStepSignIn::default(),
        context,
    );
    let step = state.refusals.login(context, call).await?;
    let SignInStep::Done(NewSession { token, session, .. }) = step else {
        return Err(CallError::Malformed.into());
    };
    let location = [(LOCATION, format!("/profile/sessions/{}", session.id))];
    let response = NewSessionResponse {
        id: session.id,
        token: token.expose_secret().to_owned(),
        expires_at: rfc3339(session.expires_at),
        idle_expires_at: rfc3339(session.idle_expires_at),
    };
    Ok((StatusCode::CREATED, location, Json(response)))
}

/// What the client calls itself.
pub(crate) fn user_agent(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let agent = headers.get(USER_AGENT)?.as_bytes();
    Some(String::from_utf8_lossy(
        &agent[..agent.len().min(MAX_USER_AGENT)],
    ))
}

/// List the sessions of the current user
#[utoipa::path(get, path = "/profile/sessions", responses((status = 200, body = SessionsResponse)))]
pub(crate) async fn list_own_sessions(
    client: ActingClient,
    ids: PathIds,
) -> Answer<SessionsResponse> {
    let sessions = client.list_sessions(ids.get("user_id")).await?;
    Ok(Json(SessionsResponse {
        sessions: sessions.into_iter().map(Into::into).collect(),
    }))
}

/// End a session of the current user
#[utoipa::path(
    delete,
    path = "/profile/sessions/{session_id}",
    responses((status = 200, body = Message, example = "Session ended."), AccessTokenNeeded)
)]
pub(crate) async fn end_own_session(
    // Rejects an invalid token before the path is checked.
    _: CurrentUser,
    client: ActingClient,
    ids: PathIds,
) -> Answer<Message> {
    let session_id = ids.get("session_id").unwrap_or(0);
    client
        .delete_sessions(ids.get("user_id"), Some(session_id))
        .await?;
    Ok(message("Session ended."))
}

/// End all sessions of the current user
///
/// All but the one of this request.
#[utoipa::path(
    delete,
    path = "/profile/sessions",
    responses((status = 200, body = Message, example = "Sessions ended."), AccessTokenNeeded)
)]
pub(crate) async fn end_own_sessions(client: ActingClient, ids: PathIds) -> Answer<Message> {
    client.delete_sessions(ids.get("user_id"), None).await?;
    Ok(message("Sessions ended."))
}
