//! `POST /register` of both variants.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
    refusals::Refusals,
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

const SUCCESS: &str = "User registered successfully.";

/// A new user. Other fields, such as a role, have no effect.
#[derive(Deserialize, ToSchema)]
pub(crate) struct RegisterRequest {
    #[schema(schema_with = username_schema)]
    username: String,
    #[schema(schema_with = password_schema::password)]
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
        (status = 200, body = Message, example = json!({"message": SUCCESS})),
        (
            status = 400,
            description = "The username is taken, the username or password breaks a rule, or the \
                           request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Username already exists."})
        ),
        (
            status = 403,
            description = "Registration is disabled.",
            body = ErrorBody,
            example = json!({"detail": "Registration is closed."})
        ),
        TooManyAttempts
    )
)]
pub(crate) async fn register(
    State(auth): State<AuthClient>,
    State(refusals): State<Refusals>,
    Extension(context): Extension<CallContext>,
    JsonBody(request): JsonBody<RegisterRequest>,
) -> Result<Json<Message>, ApiError> {
    let RegisterRequest { username, password } = request?;
    refusals.other(context, auth.register(&username, &password, context)).await?;
    Ok(message(SUCCESS))
}
