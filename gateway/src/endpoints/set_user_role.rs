//! `PUT /users/{user_id}/role`.

use crate::{
    json_body::JsonBody,
    message::{Message, message},
    user_id::UserId,
};
use auth_client::{
    AuthClient, CallContext,
    axum::{BearerToken, Problem},
};
use axum::{Extension, Json, extract::State};

/// `{role}`. The route table lets admins pass; auth-service checks the actor once more, because it
/// trusts no caller with that. A name that is no role is sent as none: 404 comes before
/// `Invalid role.`.
pub(crate) async fn set_user_role(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    user_id: Result<UserId, Problem>,
    mut body: JsonBody,
) -> Result<Json<Message>, Problem> {
    let UserId(user_id) = user_id?;
    let role = body.text("role")?.parse().ok();
    auth.set_user_role(&actor, user_id, role, context).await?;
    Ok(message("User role updated successfully."))
}
