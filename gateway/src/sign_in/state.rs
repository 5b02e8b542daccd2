//! Holds the state that the handlers of the pages share. Its methods decide where a page may redirect, and whether a
//! proxy passed a request on.

use super::return_address::{ReturnAddress, ReturnAddressError};
use crate::{
    extract::query_params::QueryParams, middleware::request_source::TrustedPeer,
    state::GatewayState,
};
use axum::extract::Request;
use http::HeaderMap;
use rolegate_auth_client::axum::ApiError;
use rolegate_program::log_limiter::LogLimiter;
use rolegate_sign_in::{
    headers::has_passed_proxy,
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN},
    sign_in::SignIn,
};
use std::{sync::Arc, time::Duration};

/// Limits how often a return address that is not allowed is logged. Each host is logged once an hour, and at most ten
/// hosts are logged, because any client can name any host.
static REFUSED_RETURN_HOSTS: LogLimiter<String> =
    LogLimiter::silent_when_full(10, Duration::from_hours(1));

#[derive(Clone)]
pub(super) struct SignInState {
    pub(super) gateway: GatewayState,
    pub(super) sign_in: Arc<SignIn>,
}

/// The address to which a page redirects at the end.
pub(super) struct Destination {
    pub(super) address: Option<ReturnAddress>,
    /// True if the query names an address that is not allowed. The page then says so.
    pub(super) is_refused: bool,
}

impl SignInState {
    /// Returns the destination that the query of a page names. Fails if the query names several. An address that is too
    /// long has a notice of its own, so it does not count as refused.
    pub(super) fn destination(
        &self,
        query: &QueryParams,
        own: &Origin,
    ) -> Result<Destination, ApiError> {
        let given = query.get(RETURN)?.unwrap_or_default();
        let address = self.return_address(given, own);
        let is_named = !given.is_empty() && given.len() <= MAX_RETURN_ADDRESS_LEN;
        Ok(Destination {
            is_refused: address.is_none() && is_named,
            address,
        })
    }

    /// Parses a return address. Returns `None` if the browser must not be redirected there, and logs an origin that is
    /// not allowed.
    pub(super) fn return_address(&self, given: &str, own: &Origin) -> Option<ReturnAddress> {
        match ReturnAddress::parse(given, own, &self.sign_in.return_origins) {
            Ok(address) => Some(address),
            Err(ReturnAddressError::OriginNotAllowed(origin)) => {
                log_refused_origin(&origin);
                None
            }
            Err(ReturnAddressError::Malformed) => None,
        }
    }
}

/// Returns `true` if a proxy passed the request on: the peer is one of `TRUSTED_PROXIES`, or the request has a header
/// that proxies add.
///
/// Both signs count, because the configuration of a proxy may be older than the header `Rolegate-Page`, which marks the
/// hosts of applications.
pub(super) fn is_forwarded(request: &Request) -> bool {
    request.extensions().get::<TrustedPeer>().is_some() || has_passed_proxy(request.headers())
}

/// Returns the origin of a request to a page where people type passwords, or `None` if a password could be read in
/// transit.
pub(super) fn secure_origin(headers: &HeaderMap) -> Option<Origin> {
    Origin::from_request_headers(headers).filter(Origin::is_secure)
}

/// Logs that people are not redirected to this origin, once an hour for its host.
fn log_refused_origin(origin: &Origin) {
    if let Some(host) = origin.url().host_str()
        && REFUSED_RETURN_HOSTS.claim(host.to_owned())
    {
        tracing::warn!(
            origin = origin.serialized(),
            "RETURN_ORIGINS: people are not redirected to this origin after signing in; if an application of yours \
             is there, add it, and let COOKIE_DOMAIN cover it or pass /sign-in there"
        );
    }
}
