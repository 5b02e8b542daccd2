//! Cross-Origin Resource Sharing (CORS).

use super::{catch_panic::catch_panic, request_origin::X_REQUEST_ID};
use axum::{
    Router,
    middleware::{Next, from_fn},
};
use http::{
    HeaderName, HeaderValue, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::REASON_HEADER;
use std::{str::FromStr, time::Duration};
use tower_http::cors::{AllowOrigin, CorsLayer};
use url::Url;

/// Origins whose scripts may call the API. The API uses no cookies, so
/// `Access-Control-Allow-Credentials` is never sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// No response has CORS headers, so browsers allow the same origin only.
    Disabled,
    /// All origins: `*`.
    Any,
    /// These origins, as browsers send them.
    List(Vec<HeaderValue>),
}

/// The methods of the API.
const METHODS: [Method; 6] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
/// How long browsers may cache a preflight response.
const MAX_AGE: Duration = Duration::from_mins(10);

impl AllowedOrigins {
    /// Answers preflights (any `OPTIONS`) and adds CORS headers to every response of `router`,
    /// including errors and panics.
    pub(crate) fn layer<S>(&self, router: Router<S>) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let origins = match self {
            Self::Disabled => return router,
            Self::Any => AllowOrigin::any(),
            Self::List(origins) => AllowOrigin::list(origins.clone()),
        };
        let reason = HeaderName::from_static(REASON_HEADER);
        let cors = CorsLayer::new()
            .allow_origin(origins)
            .allow_methods(METHODS)
            .allow_headers([AUTHORIZATION, CONTENT_TYPE])
            .expose_headers([LOCATION, RETRY_AFTER, WWW_AUTHENTICATE, X_REQUEST_ID, reason])
            .max_age(MAX_AGE);
        let panics = from_fn(async |request, next: Next| catch_panic(next.run(request)).await);
        router.layer(panics).layer(cors)
    }
}

impl FromStr for AllowedOrigins {
    type Err = &'static str;

    /// An empty text, `*`, or origins separated by commas.
    fn from_str(text: &str) -> Result<Self, &'static str> {
        match text.trim() {
            "" => Ok(Self::Disabled),
            "*" => Ok(Self::Any),
            list => {
                let origins = list.split(',').map(|origin| parse(origin.trim()));
                origins.collect::<Option<_>>().map(Self::List).ok_or(
                    "must be empty, *, or origins as browsers send them, separated by commas, such \
                     as https://app.example,http://localhost:5173 (lower case, no path, no default \
                     port)",
                )
            }
        }
    }
}

/// An origin in its serialized form (RFC 6454, section 6.2). Browsers send no other form, so any
/// other would never match.
fn parse(origin: &str) -> Option<HeaderValue> {
    let url = Url::parse(origin).ok()?;
    let serialized = match url.origin() {
        // Apps with a web view send the scheme of their own: `capacitor://localhost`.
        url::Origin::Opaque(_) if url.has_host() => {
            format!("{}://{}", url.scheme(), url.authority())
        }
        origin => origin.ascii_serialization(),
    };
    let is_valid = origin == serialized
        && url.host_str().is_some_and(|host| !host.is_empty())
        && !origin.contains(|char: char| matches!(char, '*' | '@') || char.is_ascii_uppercase());
    is_valid.then(|| HeaderValue::from_str(origin).ok()).flatten()
}

#[cfg(test)]
mod tests;
