//! Pages of other origins that may call the API (Cross-Origin Resource Sharing).

use super::{catch_panic::catch_panic, request_origin::X_REQUEST_ID};
use axum::{
    Router,
    middleware::{Next, from_fn},
};
use http::{
    HeaderValue, Method, Uri,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use std::{str::FromStr, time::Duration};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// Whose pages may call. Tokens are sent by scripts, which put them into a header; nothing here
/// uses cookies, so `Access-Control-Allow-Credentials` is never given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// Pages of the same origin only: no answer has a header of CORS.
    Disabled,
    /// All pages: `*`.
    Any,
    /// The pages of these origins.
    List(Vec<HeaderValue>),
}

/// How long browsers may remember the answer to a preflight.
const MAX_AGE: Duration = Duration::from_mins(10);

impl AllowedOrigins {
    /// Answers preflights (any `OPTIONS`) and tells browsers who may read the answers of `router`,
    /// errors and panics included. Without allowed origins it adds nothing.
    pub(crate) fn layer<S>(&self, router: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let origins = match self {
            Self::Disabled => return router,
            Self::Any => AllowOrigin::any(),
            Self::List(origins) => AllowOrigin::list(origins.clone()),
        };
        let cors = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE])
            .allow_headers([AUTHORIZATION, CONTENT_TYPE])
            .expose_headers([LOCATION, RETRY_AFTER, WWW_AUTHENTICATE, X_REQUEST_ID])
            .max_age(MAX_AGE);
        let panics = from_fn(async |request, next: Next| catch_panic(next.run(request)).await);
        router.layer(panics).layer(cors)
    }
}

impl FromStr for AllowedOrigins {
    type Err = String;

    /// Nothing, `*`, or origins separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "" => Ok(Self::Disabled),
            "*" => Ok(Self::Any),
            list => list.split(',').map(|origin| parse(origin.trim())).collect::<Option<_>>().map_or_else(
                || {
                    Err("must be * or origins as browsers send them, such as https://app.example \
                         or http://localhost:5173, separated by commas"
                        .to_owned())
                },
                |origins| Ok(Self::List(origins)),
            ),
        }
    }
}

/// An origin as browsers send it (RFC 6454, section 6.2): in lower case, without a path, without the
/// port that the scheme has anyway. Another spelling would match nobody and be a riddle.
fn parse(origin: &str) -> Option<HeaderValue> {
    let uri: Uri = origin.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?);
    let port_is_exact = match authority.as_str().strip_prefix(authority.host())? {
        "" => true,
        ":80" if scheme == "http" => false,
        ":443" if scheme == "https" => false,
        port => authority.port_u16().is_some_and(|number| port == format!(":{number}")),
    };
    let is_exact = port_is_exact
        && origin == format!("{scheme}://{authority}")
        && origin == origin.to_ascii_lowercase()
        && !authority.host().is_empty()
        && !authority.host().contains('*');
    is_exact.then(|| HeaderValue::from_str(origin).ok()).flatten()
}

#[cfg(test)]
mod tests;
