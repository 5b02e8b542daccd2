//! `/users/{user_id}/keys` and `/users/{user_id}/keys/{key_id}`: the API keys of a user.

use super::{
    api_key_response::{ApiKeyResponse, ApiKeysResponse, find},
    message::{Message, message},
};
use crate::extract::path_id::{PathId, PathIds};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    ApiKeySelection, AuthClient, CallContext,
    axum::{ApiError, BearerToken},
};

/// List the API keys of a user
#[utoipa::path(
    get,
    path = "/users/{user_id}/keys",
    tag = "API keys",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = ApiKeysResponse))
)]
pub(crate) async fn list_user_keys(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(user_id): PathId,
) -> Result<Json<ApiKeysResponse>, ApiError> {
    Ok(Json(auth.list_api_keys(&actor, Some(user_id), context).await?.into()))
}

/// Get an API key of a user
#[utoipa::path(
    get,
    path = "/users/{user_id}/keys/{key_id}",
    tag = "API keys",
    params(
        ("user_id" = i64, Path, description = "An integer."),
        ("key_id" = i64, Path, description = "An integer.")
    ),
    responses((status = 200, body = ApiKeyResponse))
)]
pub(crate) async fn get_user_key(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathIds(user_id, key_id): PathIds,
) -> Result<Json<ApiKeyResponse>, ApiError> {
    find(auth.list_api_keys(&actor, Some(user_id), context).await?, key_id).map(Json)
}

/// Delete an API key of a user
#[utoipa::path(
    delete,
    path = "/users/{user_id}/keys/{key_id}",
    tag = "API keys",
    params(
        ("user_id" = i64, Path, description = "An integer."),
        ("key_id" = i64, Path, description = "An integer.")
    ),
    responses((status = 200, body = Message, example = json!({"message": "API key deleted."})))
)]
pub(crate) async fn delete_user_key(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathIds(user_id, key_id): PathIds,
) -> Result<Json<Message>, ApiError> {
    let selection = ApiKeySelection::One(key_id);
    auth.delete_api_keys(&actor, Some(user_id), selection, context).await?;
    Ok(message("API key deleted."))
}

/// Delete all API keys of a user
#[utoipa::path(
    delete,
    path = "/users/{user_id}/keys",
    tag = "API keys",
    params(("user_id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = Message, example = json!({"message": "API keys deleted."})))
)]
pub(crate) async fn delete_user_keys(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
    PathId(user_id): PathId,
) -> Result<Json<Message>, ApiError> {
    auth.delete_api_keys(&actor, Some(user_id), ApiKeySelection::All, context).await?;
    Ok(message("API keys deleted."))
}
