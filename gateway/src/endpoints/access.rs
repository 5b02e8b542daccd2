//! Serves endpoints that show which callers are admitted. They return fixed messages, or a welcome for the user.

use super::{JsonResult, Message, message};
use crate::{
    extract::credentials::authorization, openapi::responses::TooManyAttempts, state::GatewayState,
};
use axum::{
    Extension, Json,
    extract::{Request, State},
    response::{IntoResponse as _, Redirect, Response},
};
use http::header::{AUTHORIZATION, VARY};
use rolegate_auth_client::{
    AcceptedPassword, CallContext, User,
    axum::{ApiError, CurrentUser},
};
use rolegate_proto::Authorization;
use rolegate_sign_in::request::asks_for_document;

/// Get the name of the API
///
/// Anyone may call this endpoint.
#[utoipa::path(
    get,
    path = "/",
    operation_id = "index",
    responses((status = 200, body = Message, example = "Role-Based Authorization API"))
)]
pub(crate) async fn bearer_index(State(state): State<GatewayState>, request: Request) -> Response {
    let name = message("Role-Based Authorization API");
    if state.sign_in.is_none() {
        return name.into_response();
    }
    let vary = [(VARY, "Sec-Fetch-Mode, Sec-Fetch-Dest")];
    let headers = request.headers();
    // A person who opens this address in a browser is redirected to the account page. Programs are never redirected, so
    // the redirect is not in the OpenAPI document.
    if asks_for_document(headers) && !headers.contains_key(AUTHORIZATION) {
        (vary, Redirect::to("/account")).into_response()
    } else {
        (vary, name).into_response()
    }
}

/// Get the name of the API
///
/// Anyone may call this endpoint.
#[utoipa::path(
    get,
    path = "/",
    operation_id = "index",
    responses((status = 200, body = Message, example = "Authentication API"))
)]
pub(crate) async fn basic_index() -> Json<Message> {
    message("Authentication API")
}

/// Get the public welcome message
///
/// Anyone may call this endpoint. Credentials are ignored, even invalid ones.
#[utoipa::path(
    get,
    path = "/public",
    responses((status = 200, body = Message, example = "This is a public endpoint."))
)]
pub(crate) async fn public() -> Json<Message> {
    message("This is a public endpoint.")
}

/// Get the welcome message for authors and admins
///
/// The caller's stored role must be `author` or `admin`.
#[utoipa::path(
    get,
    path = "/author",
    responses((status = 200, body = Message, example = "Welcome Author!"))
)]
pub(crate) async fn author() -> Json<Message> {
    message("Welcome Author!")
}

/// Get the welcome message for admins
///
/// The caller's stored role must be `admin`.
#[utoipa::path(
    get,
    path = "/admin",
    responses((status = 200, body = Message, example = "Welcome Admin!"))
)]
pub(crate) async fn admin() -> Json<Message> {
    message("Welcome Admin!")
}

/// Get the current user's welcome message
#[utoipa::path(
    get,
    path = "/protected",
    operation_id = "bearer",
    responses((status = 200, body = Message, example = "Welcome ada!"))
)]
pub(crate) async fn bearer_protected(CurrentUser(user): CurrentUser) -> Json<Message> {
    welcome(&user)
}

/// Get the current user's welcome message
///
/// Any user without a second factor may call this endpoint. The password is verified with every request. If the user's
/// second factor is on, the password is refused, because HTTP Basic has no place for a one-time code.
#[utoipa::path(
    get,
    path = "/protected",
    operation_id = "basic",
    security(("basic" = [])),
    responses((status = 200, body = Message, example = "Welcome ada!"), TooManyAttempts)
)]
pub(crate) async fn basic_protected(
    State(state): State<GatewayState>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> JsonResult<Message> {
    let Authorization::Basic { username, password } = authorization(request.headers())? else {
        return Err(ApiError::not_authenticated());
    };
    // The password may be hashed for a while, and the rest of the request is not needed meanwhile.
    drop(request);
    let accepted = AcceptedPassword::Password;
    let any_role = &[];
    let verified = state
        .auth
        .verify_credentials(&username, &password, accepted, any_role, context)
        .await;
    let user = state.refusals.pace(context, verified).await?;
    Ok(welcome(&user))
}

fn welcome(user: &User) -> Json<Message> {
    message(format!("Welcome {}!", user.username))
}
