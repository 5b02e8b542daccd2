//! Registers users, logs them in and out, and tells a caller who they are.

use super::{
    JsonResult, Message,
    groups::GroupName,
    message, optional_rfc3339,
    passwords::password_schema,
    users::{RoleName, UserResponse, username_schema},
};
use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, PersonalTokenRequired, TooManyAttempts},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{ActingClient, CallContext, CallError, axum::CurrentUser};
use rolegate_proto::auth_v1::{
    CredentialKind, GetCurrentUserRequest, GetCurrentUserResponse, RevokeTokensRequest,
};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use std::mem;
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
    responses((status = 200, body = Message, example = "Logged out."), PersonalTokenRequired)
)]
pub(crate) async fn logout(client: ActingClient) -> JsonResult<Message> {
    client.send(RevokeTokensRequest::default()).await?;
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
    /// The names of the groups that the credential has, in ascending order. For an API key that names groups, these are
    /// the groups of the key that the user is in.
    #[schema(value_type = Vec<GroupName>)]
    groups: Vec<String>,
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

impl TryFrom<GetCurrentUserResponse> for Me {
    type Error = CallError;

    /// Converts a response. A kind that only a later version knows is an error, because it has no name here.
    fn try_from(response: GetCurrentUserResponse) -> Result<Self, CallError> {
        let credential = response.credential.ok_or(CallError::Malformed)?;
        let kind = credential.kind();
        if kind == CredentialKind::Unspecified {
            return Err(CallError::Malformed);
        }
        let mut user = response.user.ok_or(CallError::Malformed)?;
        let groups = mem::take(&mut user.group_names);
        let user: UserResponse = user.try_into()?;
        Ok(Self {
            groups,
            id: user.id,
            username: user.username,
            role: user.role,
            credential: Credential {
                kind: kind
                    .as_str_name()
                    .trim_start_matches("CREDENTIAL_KIND_")
                    .to_ascii_lowercase(),
                expires_at: optional_rfc3339(credential.expires_at)?,
            },
        })
    }
}

/// Get the current user and credential
///
/// Returns who the caller is, the role that the credential acts with, and when the credential expires. Any user may
/// call this endpoint.
#[utoipa::path(
    get,
    path = "/me",
    responses((status = 200, body = Me))
)]
pub(crate) async fn me(client: ActingClient) -> JsonResult<Me> {
    let response = client.send(GetCurrentUserRequest {}).await?;
    Ok(Json(response.try_into()?))
}

#[cfg(test)]
mod tests {
    use super::Me;
    use prost_types::Timestamp;
    use rolegate_auth_client::CallError;
    use rolegate_proto::auth_v1;

    const BEFORE_1970: Option<Timestamp> = Some(Timestamp {
        seconds: -1,
        nanos: 0,
    });

    #[test]
    fn bearers_without_a_user_or_a_known_kind_are_errors() {
        let response = |kind: i32, role_name: &str| auth_v1::GetCurrentUserResponse {
            user: Some(auth_v1::User {
                role_name: role_name.to_owned(),
                ..auth_v1::User::default()
            }),
            credential: Some(auth_v1::Credential {
                kind,
                expires_at: None,
            }),
        };
        let me = Me::try_from(response(3, "editor")).expect("a bearer");
        assert_eq!(
            (&*me.credential.kind, me.credential.expires_at),
            ("api_key", None)
        );
        assert_eq!(me.role, "editor");
        let late = auth_v1::Credential {
            kind: 1,
            expires_at: BEFORE_1970,
        };
        for bad in [
            response(0, "user"),
            response(4, "user"),
            response(-1, "user"),
            response(1, ""),
            response(1, "Editor"),
            auth_v1::GetCurrentUserResponse {
                user: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: None,
                ..response(1, "user")
            },
            auth_v1::GetCurrentUserResponse {
                credential: Some(late),
                ..response(1, "user")
            },
        ] {
            assert!(matches!(Me::try_from(bad), Err(CallError::Malformed)));
        }
    }
}
