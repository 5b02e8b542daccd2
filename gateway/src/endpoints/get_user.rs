//! `GET /users/{user_id}`.

use super::shown_user::ShownUser;
use crate::{openapi::problem::NoSuchUser, user_id::UserId};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// Look at a user
#[utoipa::path(
    get,
    path = "/users/{user_id}",
    tag = "Users",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses(
        (status = 200, body = ShownUser),
        NoSuchUser
    )
)]
pub(crate) async fn get_user(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    UserId(user_id): UserId,
) -> Result<Json<ShownUser>, ApiError> {
    // The route table lets admins pass; auth-service checks the actor once more.
    let user = auth.user(&actor, user_id, context).await?;
    Ok(Json(user.into()))
}
