//! Lists and ends sessions. The current user's sessions are at `/profile/sessions`. Admins reach the sessions of any
//! user at `/users/{user_id}/sessions`.
//!
//! Each pair of endpoints shares one function, whose `user_id` is [`CURRENT_USER`] or the id in the path.

pub(crate) mod creation;

use super::{
    CURRENT_USER, JsonResult, Message, convert_all, message, optional_rfc3339, required_rfc3339,
    users::{UserNotFound, UserPath},
};
use crate::{
    extract::path_ids::PathIds,
    openapi::responses::{PersonalTokenRequired, error_response},
};
use axum::Json;
use rolegate_auth_client::{ActingClient, CallError, axum::CurrentUser};
use rolegate_proto::auth_v1::{
    AllSessions, DeleteSessionsRequest, ListSessionsRequest, Session,
    delete_sessions_request::Sessions,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// The id of a session in a path. In a path about any user, it follows a [`UserPath`].
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SessionPath {
    /// The id of the session, an integer.
    #[param(example = 1)]
    session_id: i64,
}

error_response! {
    /// The error if the current user has no such session.
    OwnSessionNotFound = 404, "The user has no session with this id.", ["Session not found."]
}

error_response! {
    /// The error if there is no such user, or the user has no such session.
    UserSessionNotFound = 404,
    "No user has this id, or the user has no session with this id.",
    ["User not found.", "Session not found."]
}

/// A session, without its token.
#[derive(Serialize, ToSchema)]
#[schema(as = Session)]
pub(crate) struct SessionResponse {
    #[schema(minimum = 1, example = 1)]
    id: i64,
    /// The name that the client gave the session. Null if it gave none.
    #[schema(required, example = "phone")]
    name: Option<String>,
    /// When the session was created, as RFC 3339 in UTC, to the second.
    #[schema(format = DateTime, example = "2026-11-21T06:00:00.000Z")]
    created_at: String,
    /// When the session was last used, up to a minute late. Null if it was never used.
    #[schema(format = DateTime, required, example = "2026-11-22T06:00:00.000Z")]
    last_used_at: Option<String>,
    /// The address from which the session was created. Null if it is unknown.
    #[schema(required, example = "203.0.113.9")]
    client_address: Option<String>,
    /// The `User-Agent` of the client that created the session. Null if it sent none.
    #[schema(required, example = "Mozilla/5.0")]
    user_agent: Option<String>,
    /// When the session expires, even if it is used.
    #[schema(format = DateTime, example = "2026-12-21T06:00:00.000Z")]
    expires_at: String,
    /// True if the session is the credential of this request.
    current: bool,
}

impl TryFrom<Session> for SessionResponse {
    type Error = CallError;

    fn try_from(session: Session) -> Result<Self, CallError> {
        Ok(Self {
            id: session.id,
            name: session.name,
            created_at: required_rfc3339(session.created_at)?,
            last_used_at: optional_rfc3339(session.last_used_at)?,
            client_address: session.client_address,
            user_agent: session.user_agent,
            expires_at: required_rfc3339(session.expires_at)?,
            current: session.current,
        })
    }
}

/// All sessions of a user, in ascending order of their ids.
#[derive(Serialize, ToSchema)]
#[schema(as = Sessions)]
pub(crate) struct SessionsResponse {
    sessions: Vec<SessionResponse>,
}

/// List the sessions of the current user
///
/// Returns the sessions without their tokens. Any user may call this endpoint.
#[utoipa::path(
    get,
    path = "/profile/sessions",
    responses((status = 200, body = SessionsResponse))
)]
pub(crate) async fn list_own_sessions(client: ActingClient) -> JsonResult<SessionsResponse> {
    list_sessions(&client, CURRENT_USER).await
}

/// List the sessions of a user
///
/// Returns the sessions without their tokens. Only admins may call this endpoint.
#[utoipa::path(
    get,
    path = "/users/{user_id}/sessions",
    params(UserPath),
    responses((status = 200, body = SessionsResponse), UserNotFound)
)]
pub(crate) async fn list_user_sessions(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<SessionsResponse> {
    list_sessions(&client, Some(user_id)).await
}

async fn list_sessions(
    client: &ActingClient,
    user_id: Option<i64>,
) -> JsonResult<SessionsResponse> {
    let response = client.send(ListSessionsRequest { user_id }).await?;
    Ok(Json(SessionsResponse {
        sessions: convert_all(response.sessions)?,
    }))
}

/// End a session of the current user
///
/// The session is refused from the next request on. Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    delete,
    path = "/profile/sessions/{session_id}",
    params(SessionPath),
    responses(
        (status = 200, body = Message, example = "Session ended."),
        PersonalTokenRequired,
        OwnSessionNotFound
    )
)]
pub(crate) async fn end_own_session(
    // Rejects an invalid token before the path is checked. On the routes for admins, the guard does this.
    _: CurrentUser,
    client: ActingClient,
    PathIds(SessionPath { session_id }): PathIds<SessionPath>,
) -> JsonResult<Message> {
    end_sessions(&client, CURRENT_USER, Sessions::SessionId(session_id)).await
}

/// End a session of a user
///
/// The session is refused from the next request on. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/sessions/{session_id}",
    params(UserPath, SessionPath),
    responses((status = 200, body = Message, example = "Session ended."), UserSessionNotFound)
)]
pub(crate) async fn end_user_session(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
    PathIds(SessionPath { session_id }): PathIds<SessionPath>,
) -> JsonResult<Message> {
    end_sessions(&client, Some(user_id), Sessions::SessionId(session_id)).await
}

/// End all sessions of the current user
///
/// Ends all sessions except that of this request. Any user may call this endpoint, but not with an API key.
#[utoipa::path(
    delete,
    path = "/profile/sessions",
    responses((status = 200, body = Message, example = "Sessions ended."), PersonalTokenRequired)
)]
pub(crate) async fn end_own_sessions(client: ActingClient) -> JsonResult<Message> {
    end_sessions(&client, CURRENT_USER, Sessions::All(AllSessions {})).await
}

/// End all sessions of a user
///
/// Ends all sessions except that of this request. Only admins may call this endpoint.
#[utoipa::path(
    delete,
    path = "/users/{user_id}/sessions",
    params(UserPath),
    responses((status = 200, body = Message, example = "Sessions ended."), UserNotFound)
)]
pub(crate) async fn end_user_sessions(
    client: ActingClient,
    PathIds(UserPath { user_id }): PathIds<UserPath>,
) -> JsonResult<Message> {
    end_sessions(&client, Some(user_id), Sessions::All(AllSessions {})).await
}

async fn end_sessions(
    client: &ActingClient,
    user_id: Option<i64>,
    sessions: Sessions,
) -> JsonResult<Message> {
    let text = match sessions {
        Sessions::SessionId(_) => "Session ended.",
        Sessions::All(_) => "Sessions ended.",
    };
    let sessions = Some(sessions);
    client
        .send(DeleteSessionsRequest { user_id, sessions })
        .await?;
    Ok(message(text))
}

#[cfg(test)]
mod tests {
    use super::SessionResponse;
    use prost_types::Timestamp;
    use rolegate_auth_client::CallError;
    use rolegate_proto::auth_v1;

    const TIME: Option<Timestamp> = Some(Timestamp {
        seconds: 1,
        nanos: 0,
    });
    const BEFORE_1970: Option<Timestamp> = Some(Timestamp {
        seconds: -1,
        nanos: 0,
    });

    #[test]
    fn sessions_that_cannot_be_shown_are_errors() {
        let good = auth_v1::Session {
            created_at: TIME,
            expires_at: TIME,
            idle_expires_at: TIME,
            ..auth_v1::Session::default()
        };
        let session = SessionResponse::try_from(good.clone()).expect("a session");
        assert_eq!((session.name, session.last_used_at), (None, None));
        for bad in [
            auth_v1::Session {
                created_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                expires_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                last_used_at: BEFORE_1970,
                ..good
            },
        ] {
            let session = SessionResponse::try_from(bad);
            assert!(matches!(session, Err(CallError::Malformed)));
        }
    }
}
