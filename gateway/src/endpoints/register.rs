//! `POST /register` of both variants.

use super::{
    message::{Message, message},
    password_schema,
};
use crate::{
    extract::json_body::JsonBody,
    openapi::responses::{ErrorBody, TooManyAttempts},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{AuthClient, CallContext, axum::ApiError};
use secrecy::SecretString;
use serde_json::json;
use utoipa::{
    ToSchema,
    openapi::{Object, ObjectBuilder, Type},
};

/// A new user. Whatever else the body says, such as a role, has no effect.
#[derive(ToSchema)]
pub(crate) struct RegisterRequest {
    #[schema(schema_with = username)]
    username: String,
    #[schema(schema_with = password_schema::password)]
    password: SecretString,
}

/// As much of the rule as a schema can tell; auth-service has the whole.
fn username() -> Object {
    // No control character and no colon; at the ends no white space either.
    let inside = r"[^\u0000-\u001f:\u007f-\u009f]";
    let end = r"[^\u0000-\u0020:\u007f-\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(
            "1 to 255 bytes of UTF-8 in Unicode NFC, without control characters, colons, or white \
             space at either end. Compared byte for byte.",
        ))
        .min_length(Some(1))
        .max_length(Some(255))
        .pattern(Some(format!("^{end}({inside}*{end})?$")))
        .examples([json!("ada")])
        .build()
}

impl RegisterRequest {
    fn read(mut body: JsonBody) -> Result<Self, ApiError> {
        Ok(Self { username: body.text("username")?, password: body.secret("password")? })
    }
}

/// Register a user
///
/// The user has the role `user`. Nobody is logged in by it.
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
        (
            status = 400,
            description = "The username is taken, or a rule for names or passwords is broken, or the \
                           request body is malformed.",
            body = ErrorBody,
            example = json!({"detail": "Username already exists."})
        ),
        (
            status = 403,
            description = "The service is told to register nobody.",
            body = ErrorBody,
            example = json!({"detail": "Registration is closed."})
        ),
        TooManyAttempts
    )
)]
pub(crate) async fn register(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    body: JsonBody,
) -> Result<Json<Message>, ApiError> {
    let RegisterRequest { username, password } = RegisterRequest::read(body)?;
    auth.register(&username, &password, context).await?;
    Ok(message("User registered successfully."))
}
