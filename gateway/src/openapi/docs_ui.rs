//! `/openapi.json`, and Swagger UI at `/docs`, which is embedded in the program.

use axum::{
    Router,
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, serve};

/// Allows nothing from other origins and no framing. Swagger UI needs inline styles and `data:`
/// icons.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
                              style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// The page, with our title and plugin; its configuration; and the plugin that logs in. Our page needs
/// no `SwaggerUIStandalonePreset`, which is the Explore bar.
const INDEX: &str = include_str!("docs_ui/index.html");
const INITIALIZER: &str = include_str!("docs_ui/swagger-initializer.js");
const SIGN_IN: &str = include_str!("docs_ui/sign-in.js");
const CONSOLE_LINK: &str = r#"<p><a class="link" href="/console/">Open the console</a></p>"#;

/// The files that depend on the settings.
#[derive(Clone)]
struct Templates {
    index: Bytes,
    initializer: Bytes,
}

/// These routes are not in the document themselves. `has_console`: the page links to `/console/`.
pub(crate) fn routes<S>(document: &OpenApi, has_console: bool) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let json = Bytes::from(serde_json::to_vec(document).expect("a document is JSON"));
    let json = async move || ([(CONTENT_TYPE, "application/json")], json);
    let schemes = document.components.as_ref().map(|components| &components.security_schemes);
    // A token expires; a password must not stay in the browser's storage.
    let persist = schemes.is_some_and(|schemes| schemes.contains_key("bearer"));
    let initializer = INITIALIZER.replace("PERSIST_AUTHORIZATION", &persist.to_string());
    let index = INDEX.replace("CONSOLE_LINK", if has_console { CONSOLE_LINK } else { "" });
    let templates = Templates { index: index.into(), initializer: initializer.into() };
    let page = templates.clone();
    Router::new()
        .route("/openapi.json", get(json))
        .route("/docs", get(async || Redirect::temporary("/docs/")))
        .route("/docs/", get(async move || file("index.html", &page)))
        .route(
            "/docs/{file}",
            get(async move |name: Result<Path<String>, PathRejection>| {
                match name {
                    Ok(Path(name)) => file(&name, &templates),
                    // Not UTF-8.
                    Err(_) => {
                        ApiError::http(HttpReason::RouteNotFound, "Not Found").into_response()
                    }
                }
            }),
        )
}

fn file(name: &str, templates: &Templates) -> Response {
    let (content_type, bytes) = match name {
        "index.html" => ("text/html".to_owned(), templates.index.clone()),
        "sign-in.js" => ("text/javascript".to_owned(), Bytes::from_static(SIGN_IN.as_bytes())),
        "swagger-initializer.js" => ("text/javascript".to_owned(), templates.initializer.clone()),
        _ => match serve(name, Arc::new(Config::from("/openapi.json"))) {
            Ok(Some(file)) => (file.content_type, Bytes::from(file.bytes.into_owned())),
            Ok(None) => {
                return ApiError::http(HttpReason::RouteNotFound, "Not Found").into_response();
            }
            Err(error) => {
                tracing::error!(%error, name, "cannot read a Swagger UI file");
                return ApiError::http(HttpReason::Internal, "Internal server error.")
                    .into_response();
            }
        },
    };
    let headers = [
        (CONTENT_TYPE, content_type.as_str()),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        // The files change only with the program.
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, bytes).into_response()
}
