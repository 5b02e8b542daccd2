//! `POST /users`.

use super::{
    password_schema, register::username_schema, role_name::RoleName, user_response::UserResponse,
};
use crate::{extract::json_body::JsonBody, openapi::responses::ErrorBody, refusals::Refusals};
use axum::{Extension, Json, extract::State, response::IntoResponse};
use http::{StatusCode, header::LOCATION};
use rolegate_auth_client::{
    AuthClient, CallContext, Role,
    axum::{ApiError, BearerToken},
};
use secrecy::SecretString;
use serde::Deserialize;
use utoipa::ToSchema;

/// A new user.
#[derive(Deserialize, ToSchema)]
pub(crate) struct UserCreationRequest {
    #[schema(schema_with = username_schema)]
    username: String,
    #[schema(schema_with = password_schema::password)]
    password: SecretString,
    /// `user` if it is missing.
    #[schema(value_type = RoleName, required = false)]
    role: Option<String>,
}

/// Create a user
///
/// Works while registration is closed too.
#[utoipa::path(
    post,
    path = "/users",
    tag = "Users",
    request_body(content = UserCreationRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 201,
            description = "The new user.",
            body = UserResponse,
            headers(("Location" = String, description = "`/users/{user_id}`"))
        ),
        (
            status = 400,
            description = "The username is taken, the username or password breaks a rule, the role \
                           does not exist, or the request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Username already exists."})
        )
    )
)]
pub(crate) async fn create_user(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    JsonBody(request): JsonBody<UserCreationRequest>,
) -> Result<impl IntoResponse, ApiError> {
    let UserCreationRequest { username, password, role } = request?;
    // auth-service rejects an unknown role, because the rules of name and password come first.
    let role = role.map_or(Some(Role::User), |role| role.parse().ok());
    let call = auth.create_user(&actor, &username, &password, role, context);
    let user = refusals.other(context, call).await?;
    let location = [(LOCATION, format!("/users/{}", user.id))];
    Ok((StatusCode::CREATED, location, Json(UserResponse::from(user))))
}
