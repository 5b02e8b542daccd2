//! `/openapi.json`, and Swagger UI at `/docs`, which is embedded in the program.

use axum::{
    Router,
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use http::{
    StatusCode,
    header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE},
};
use rolegate_auth_client::axum::ApiError;
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, serve};

/// Allows nothing from other origins and no framing. Swagger UI needs inline styles and `data:`
/// icons.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
                              style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// These routes are not in the document themselves.
pub(crate) fn routes<S>(document: &OpenApi) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let json = Bytes::from(serde_json::to_vec(document).expect("a document is JSON"));
    let json = async move || ([(CONTENT_TYPE, "application/json")], json);
    // By default, Swagger UI sends the document's URL to a validator on the Internet.
    let config =
        Arc::new(Config::from("/openapi.json").validator_url("none").try_it_out_enabled(true));
    let index = Arc::clone(&config);
    Router::new()
        .route("/openapi.json", get(json))
        .route("/docs", get(async || Redirect::temporary("/docs/")))
        .route("/docs/", get(async move || file("index.html", index)))
        .route(
            "/docs/{file}",
            get(async move |name: Result<Path<String>, PathRejection>| {
                match name {
                    Ok(Path(name)) => file(&name, config),
                    // Not UTF-8.
                    Err(_) => ApiError::new(StatusCode::NOT_FOUND, "Not Found").into_response(),
                }
            }),
        )
}

fn file(name: &str, config: Arc<Config<'static>>) -> Response {
    match serve(name, config) {
        Ok(Some(file)) => {
            let headers = [
                (CONTENT_TYPE, file.content_type.as_str()),
                (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
                // The files change only with the program.
                (CACHE_CONTROL, "public, max-age=3600"),
            ];
            (headers, file.bytes).into_response()
        }
        Ok(None) => ApiError::new(StatusCode::NOT_FOUND, "Not Found").into_response(),
        Err(error) => {
            tracing::error!(%error, name, "cannot generate a Swagger UI file");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "Internal server error.")
                .into_response()
        }
    }
}
