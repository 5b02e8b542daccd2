//! Lets admins create users.

use super::{RoleName, UserResponse, username_schema};
use crate::{
    endpoints::{
        Created, created, password_links::PasswordLinkResponse, passwords::password_schema,
    },
    extract::json_body::JsonBody,
    openapi::responses::ErrorBody,
    state::GatewayState,
};
use axum::extract::State;
use rolegate_auth_client::{ActingClient, Role, axum::ApiError};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The user to create.
#[derive(Deserialize, ToSchema)]
pub(crate) struct UserCreationRequest {
    #[schema(schema_with = username_schema)]
    username: String,
    // Without a password, the user gets a link by which to choose one.
    #[schema(schema_with = password_schema, required = false)]
    password: Option<SecretString>,
    /// The role of the user. If it is missing, it is `user`.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

/// The new user.
#[derive(Serialize, ToSchema)]
#[schema(as = NewUser)]
pub(crate) struct NewUserResponse {
    #[serde(flatten)]
    user: UserResponse,
    /// The link by which the user chooses a password. Missing if the request has a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = PasswordLinkResponse, required = false)]
    password_link: Option<PasswordLinkResponse>,
}

/// Create a user
///
/// Works even while registration is closed. Without `password`, the response has a link by which the user chooses one:
/// give it to the user. Only admins may call this endpoint.
#[utoipa::path(
    post,
    path = "/users",
    request_body = UserCreationRequest,
    responses(
        (status = 201, description = "The new user.",
            body = NewUserResponse,
            headers(("Location" = String, description = "`/users/{user_id}`"))),
        (status = 400, description = "The username is taken, the username or password breaks a \
                                      rule, the role does not exist, or the request body is \
                                      malformed.",
            body = ErrorBody, example = "Username already exists."),
        (status = 403, description = "The caller's stored role is not `admin`, or only users may \
                                      choose their passwords.",
            body = ErrorBody, example = "Users choose their passwords by a link.")
    )
)]
pub(crate) async fn create_user(
    State(state): State<GatewayState>,
    client: ActingClient,
    JsonBody(request): JsonBody<UserCreationRequest>,
) -> Result<Created<NewUserResponse>, ApiError> {
    // auth-service rejects an unknown role, not the gateway, because errors in the name and the password have
    // precedence.
    let role = request.role.unwrap_or_else(|| Role::USER.to_string());
    let call = client.create_user(&request.username, request.password.as_ref(), role);
    let (user, link) = state.refusals.pace(client.context(), call.await).await?;
    let path = format!("/users/{}", user.id);
    let response = NewUserResponse {
        user: user.try_into()?,
        password_link: link.map(|link| PasswordLinkResponse::new(&state, &link)),
    };
    Ok(created(path, response))
}
