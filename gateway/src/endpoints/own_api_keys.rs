//! `/profile/keys` and `/profile/keys/{key_id}`: the API keys of the current user.

use super::{
    api_key_response::{ApiKeyResponse, ApiKeysResponse, find},
    message::{Message, message},
};
use crate::{
    extract::path_id::PathId,
    openapi::responses::{AccessTokenNeeded, ErrorBody},
};
use axum::{Extension, Json, extract::State};
use rolegate_auth_client::{
    ApiKeySelection, AuthClient, CallContext,
    axum::{ApiError, BearerToken, CurrentUser},
};

/// List the API keys of the current user
#[utoipa::path(
    get,
    path = "/profile/keys",
    tag = "API keys",
    security(("bearer" = [])),
    responses((status = 200, body = ApiKeysResponse))
)]
pub(crate) async fn list_own_keys(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
) -> Result<Json<ApiKeysResponse>, ApiError> {
    Ok(Json(auth.list_api_keys(&actor, None, context).await?.into()))
}

/// Get an API key of the current user
#[utoipa::path(
    get,
    path = "/profile/keys/{key_id}",
    tag = "API keys",
    security(("bearer" = [])),
    params(("key_id" = i64, Path, description = "An integer.")),
    responses((status = 200, body = ApiKeyResponse))
)]
pub(crate) async fn get_own_key(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    _: CurrentUser,
    BearerToken(actor): BearerToken,
    PathId(key_id): PathId,
) -> Result<Json<ApiKeyResponse>, ApiError> {
    find(auth.list_api_keys(&actor, None, context).await?, key_id).map(Json)
}

/// Delete an API key of the current user
///
/// An API key can delete only itself.
#[utoipa::path(
    delete,
    path = "/profile/keys/{key_id}",
    tag = "API keys",
    security(("bearer" = [])),
    params(("key_id" = i64, Path, description = "An integer.")),
    responses(
        (status = 200, body = Message, example = json!({"message": "API key deleted."})),
        (
            status = 403,
            description = "The caller presented another API key. Any `user`, `author` or `admin` with an \
                           access token is admitted.",
            body = ErrorBody,
            example = json!({"detail": "Insufficient privileges."})
        )
    )
)]
pub(crate) async fn delete_own_key(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    _: CurrentUser,
    BearerToken(actor): BearerToken,
    PathId(key_id): PathId,
) -> Result<Json<Message>, ApiError> {
    let selection = ApiKeySelection::One(key_id);
    auth.delete_api_keys(&actor, None, selection, context).await?;
    Ok(message("API key deleted."))
}

/// Delete all API keys of the current user
#[utoipa::path(
    delete,
    path = "/profile/keys",
    tag = "API keys",
    security(("bearer" = [])),
    responses(
        (status = 200, body = Message, example = json!({"message": "API keys deleted."})),
        AccessTokenNeeded
    )
)]
pub(crate) async fn delete_own_keys(
    State(auth): State<AuthClient>,
    Extension(context): Extension<CallContext>,
    BearerToken(actor): BearerToken,
) -> Result<Json<Message>, ApiError> {
    auth.delete_api_keys(&actor, None, ApiKeySelection::All, context).await?;
    Ok(message("API keys deleted."))
}
