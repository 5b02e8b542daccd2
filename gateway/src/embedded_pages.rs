//! Serves pages whose files are embedded in the program. Their routes are not part of the API, so they are not in the
//! OpenAPI document.

use crate::state::GatewayState;
use axum::{
    Router,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse as _, Redirect, Response},
    routing::get,
};
use http::HeaderMap;
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;

/// Returns the routes of the files below `path`. If `path` is `/docs`, `index.html` is at `/docs/`, and `/docs`
/// redirects there. `file` turns the name of a file and the request headers into the response.
pub(crate) fn routes(
    path: &'static str,
    file: impl Fn(&str, &HeaderMap) -> Response + Clone + Send + Sync + 'static,
) -> Router<GatewayState> {
    let folder = format!("{path}/");
    let index = file.clone();
    let show_index = async move |headers: HeaderMap| index("index.html", &headers);
    let show_file =
        async move |name: Result<Path<String>, PathRejection>, headers: HeaderMap| match name {
            Ok(Path(name)) => file(&name, &headers),
            // The name of the file is not UTF-8.
            Err(_) => not_found(),
        };
    Router::new()
        .route(&format!("{path}/{{file}}"), get(show_file))
        .route(&folder, get(show_index))
        .route(path, get(async move || Redirect::temporary(&folder)))
}

pub(crate) fn not_found() -> Response {
    ApiError::http(HttpReason::RouteNotFound, "Not Found").into_response()
}
