//! Allows pages of other origins to call the API (Cross-Origin Resource Sharing, CORS).

use super::request_source::X_REQUEST_ID;
use crate::settings::AllowedOrigins;
use http::{
    HeaderName, Method,
    header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rolegate_proto::http::REASON_HEADER;
use std::time::Duration;
use tower_http::cors::CorsLayer;

/// Returns the layer that answers preflights (any `OPTIONS`) and adds CORS headers to every response. Returns `None` if
/// no origin is allowed.
pub(super) fn layer(origins: &AllowedOrigins) -> Option<CorsLayer> {
    let AllowedOrigins(origins) = origins;
    let reason = HeaderName::from_static(REASON_HEADER);
    let cors = CorsLayer::new()
        .allow_origin(origins.clone()?)
        .allow_methods([
            Method::GET,
            Method::HEAD,
            Method::POST,
            Method::PUT,
            Method::PATCH,
            Method::DELETE,
        ])
        .allow_headers([AUTHORIZATION, CONTENT_TYPE])
        .expose_headers([
            LOCATION,
            RETRY_AFTER,
            WWW_AUTHENTICATE,
            X_REQUEST_ID,
            reason,
        ])
        .max_age(Duration::from_mins(10));
    Some(cors)
}

#[cfg(test)]
mod tests;
