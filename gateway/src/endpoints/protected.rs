//! `GET /protected` of the HTTP Basic variant.

use crate::{
    basic_credentials::BasicCredentials,
    message::{Message, message},
    openapi::problem::TooManyAttempts,
};
use auth_client::{AuthClient, CallContext, axum::Problem};
use axum::{Extension, Json, extract::State};

/// Greet the user
///
/// The password is checked on every request.
#[utoipa::path(
    get,
    path = "/protected",
    tag = "Access",
    security(("basic" = [])),
    responses(
        (status = 200, body = Message, example = json!({"message": "Welcome ada!"})),
        TooManyAttempts
    )
)]
pub(crate) async fn protected(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    credentials: BasicCredentials,
) -> Result<Json<Message>, Problem> {
    let BasicCredentials { username, password } = credentials;
    let user = auth.verify_credentials(&username, &password, context).await?;
    Ok(message(format!("Welcome {}!", user.username)))
}
