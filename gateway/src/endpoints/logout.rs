//! `POST /logout`.

use super::message::{Message, message};
use crate::openapi::responses::AccessTokenNeeded;
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// Log out
///
/// Ends all access tokens of the user, also those of other logins: they cannot be told apart. API keys
/// stay.
#[utoipa::path(
    post,
    path = "/logout",
    tag = "Accounts",
    security(("bearer" = [])),
    responses(
        (status = 200, body = Message, example = json!({"message": "Logged out."})),
        AccessTokenNeeded
    )
)]
pub(crate) async fn logout(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(token): BearerToken,
) -> Result<Json<Message>, ApiError> {
    auth.revoke_tokens(&token, None, context).await?;
    Ok(message("Logged out."))
}
