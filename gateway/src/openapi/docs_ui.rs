//! Serves `/openapi.json`, and Swagger UI at `/docs`. The files of Swagger UI are embedded in the program.

use crate::{
    embedded_pages::{self, not_found},
    state::GatewayState,
};
use axum::{
    Router,
    body::Bytes,
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use utoipa::openapi::OpenApi;

/// The `Content-Security-Policy` of the page. It allows nothing from other origins, and no framing. Swagger UI needs
/// inline styles and `data:` icons.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
                              style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                              connect-src 'self'; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// The page with Rolegate's title and plugin. It needs no `SwaggerUIStandalonePreset`, which would add the Explore bar.
const INDEX: &str = include_str!("docs_ui/index.html");
/// The script that configures Swagger UI.
const INITIALIZER: &str = include_str!("docs_ui/swagger-initializer.js");
const CONSOLE_LINK: &str = r#"<p><a class="link" href="/console/">Open the console</a></p>"#;

/// A file that is embedded in the program.
struct EmbeddedFile {
    name: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

macro_rules! files {
    ($($name:literal $content_type:literal $path:literal),* $(,)?) => {
        [$(EmbeddedFile {
            name: $name,
            content_type: $content_type,
            bytes: include_bytes!(concat!("docs_ui/", $path, $name)),
        }),*]
    };
}

/// The files of the plugin that logs in, and of Swagger UI 5.32.6. To update Swagger UI, copy the files of the folder
/// `swagger-ui` from another version of the npm package `swagger-ui-dist`.
const FILES: [EmbeddedFile; 6] = files![
    "sign-in.js" "text/javascript" "",
    "swagger-ui-bundle.js" "text/javascript" "swagger-ui/",
    "swagger-ui.css" "text/css" "swagger-ui/",
    "index.css" "text/css" "swagger-ui/",
    "favicon-16x16.png" "image/png" "swagger-ui/",
    "favicon-32x32.png" "image/png" "swagger-ui/",
];

/// Returns the routes of the document and of the page. The page has a link to `/console/` if `has_console` is true.
pub(crate) fn routes(document: &OpenApi, has_console: bool) -> Router<GatewayState> {
    let json = Bytes::from(serde_json::to_vec(document).expect("a document is JSON"));
    let openapi_json = async move || ([(CONTENT_TYPE, "application/json")], json);
    // A token may stay in the browser's storage, because it expires. A password must not.
    let persist_authorization = document
        .components
        .as_ref()
        .is_some_and(|components| components.security_schemes.contains_key("bearer"));
    let initializer = Bytes::from(
        INITIALIZER.replace("PERSIST_AUTHORIZATION", &persist_authorization.to_string()),
    );
    let console_link = if has_console { CONSOLE_LINK } else { "" };
    let index = Bytes::from(INDEX.replace("CONSOLE_LINK", console_link));
    let file = move |name: &str, _: &_| match name {
        "index.html" => respond("text/html", index.clone()),
        "swagger-initializer.js" => respond("text/javascript", initializer.clone()),
        _ => match FILES.iter().find(|file| file.name == name) {
            Some(file) => respond(file.content_type, Bytes::from_static(file.bytes)),
            None => not_found(),
        },
    };
    embedded_pages::routes("/docs", file).route("/openapi.json", get(openapi_json))
}

fn respond(content_type: &str, file: Bytes) -> Response {
    let headers = [
        (CONTENT_TYPE, content_type),
        (CONTENT_SECURITY_POLICY, CONTENT_POLICY),
        // The files change only with a new version of the program.
        (CACHE_CONTROL, "public, max-age=3600"),
    ];
    (headers, file).into_response()
}
