//! Cross-Origin Resource Sharing (CORS).

use super::request_source::X_REQUEST_ID;
use crate::settings::AllowedOrigins;
use http::{
    HeaderName, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::REASON_HEADER;
use std::time::Duration;
use tower_http::cors::CorsLayer;

const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];
const MAX_AGE: Duration = Duration::from_mins(10);

/// Answers preflights (any `OPTIONS`) and adds CORS headers to every response; `None` if it is disabled.
pub(super) fn layer(origins: &AllowedOrigins) -> Option<CorsLayer> {
    let AllowedOrigins(origins) = origins;
    let reason = HeaderName::from_static(REASON_HEADER);
    let cors = CorsLayer::new()
        .allow_origin(origins.clone()?)
        .allow_methods(METHODS)
        .allow_headers([AUTHORIZATION, CONTENT_TYPE])
        .expose_headers([
            LOCATION,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
            X_REQUEST_ID,
            reason,
        ])
        .max_age(MAX_AGE);
    Some(cors)
}

#[cfg(test)]
mod tests;
