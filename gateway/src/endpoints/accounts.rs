//! One's own account.

use super::{Message, message, passwords, roles::RoleName};
use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
    state::GatewayState,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    CallContext,
    axum::{ApiError, CurrentUser},
};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

/// A new user. Other fields, such as a role, have no effect.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RegisterRequest {
    #[schema(schema_with = username_schema)]
    username: String,
    #[schema(schema_with = passwords::schema)]
    password: SecretString,
}

/// The part of the rules that a schema can express; auth-service checks all of them.
pub(super) fn username_schema() -> Object {
    // No control characters and no colon; no white space at either end.
    let inside = r"[^\u0000-\u001f:\u007f-\u009f]";
    let end = r"[^\u0000-\u0020:\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "1 to 255 bytes of UTF-8 in Unicode NFC, without control and invisible characters, \
             colons, or white space at either end. Compared byte for byte.",
        ))
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some(format!("^{end}({inside}*{end})?$")))
        .examples([json!("ada")])
        .build()
}

/// Register a user
///
/// The new user has the role `user` and is not logged in.
#[utoipa::path(
    post,
    path = "/register",
    tag = "Accounts",
    request_body(content = RegisterRequest, description = "At most 64 KiB."),
    responses(
        (
            status = 200,
            body = Message,
            example = json!({"message": "User registered successfully."})
        ),
        (status = 400, description = "The username is taken, the username or password breaks a \
                                      rule, or the request body is malformed.",
            body = ErrorBody, example = json!({"detail": "Username already exists."})),
        (status = 403, description = "Registration is disabled.",
            body = ErrorBody, example = json!({"detail": "Registration is closed."})),
        TooManyAttempts
    )
)]
pub(crate) async fn register(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    JsonBody(RegisterRequest { username, password }): JsonBody<RegisterRequest>,
) -> Result<Json<Message>, ApiError> {
    let call = state.auth.register(&username, &password, context);
    state.refusals.answer(context, call.await).await?;
    Ok(message("User registered successfully."))
}

/// The current user's welcome message and stored role.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Profile {
    #[schema(example = "Welcome ada!")]
    message: String,
    #[schema(value_type = RoleName)]
    role: &'static str,
}

/// Get the current user's profile
#[utoipa::path(
    get,
    path = "/profile",
    tag = "Accounts",
    security(("bearer" = [])),
    responses((status = 200, body = Profile))
)]
pub(crate) async fn profile(CurrentUser(user): CurrentUser) -> Json<Profile> {
    Json(Profile { message: format!("Welcome {}!", user.username), role: user.role.as_str() })
}
