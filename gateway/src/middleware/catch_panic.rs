//! A panic in a handler is a 500 for its request and nothing for the others on the connection.

use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::StatusCode;
use rolegate_auth_client::axum::ApiError;
use std::panic::AssertUnwindSafe;

/// Answers where the handler cannot any more. The panic hook has printed the cause by then.
pub(crate) async fn catch_panic(handler: impl Future<Output = Response>) -> Response {
    // What a request shares with others, the client and its connection, survives a panic.
    AssertUnwindSafe(handler).catch_unwind().await.unwrap_or_else(|_panic| {
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error.").into_response()
    })
}
