//! Turns a panic in a handler into a 500, so that other requests on the connection continue.

use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use std::panic::AssertUnwindSafe;

/// The panic hook has logged the cause by the time the response is returned.
pub(crate) async fn catch_panic(handler: impl Future<Output = Response>) -> Response {
    // Requests share only the gRPC clients and the connection, which survive a panic.
    AssertUnwindSafe(handler).catch_unwind().await.unwrap_or_else(|_panic| {
        ApiError::http(HttpReason::Internal, "Internal server error.").into_response()
    })
}
