//! Exposes the parsers of this crate to the targets in `fuzz/`. It is compiled only for these targets.

use crate::extract::{credentials, json_body::JsonBody, query_params::QueryParams};
use crate::{
    forward_auth::{authorize::AuthorizeQuery, introspect::read_token},
    sign_in::return_address::ReturnAddress,
};
use axum::extract::{FromRequest as _, Request};
use http::{HeaderMap, StatusCode};
use rolegate_auth_client::axum::ApiError;
use rolegate_sign_in::{origin::Origin, return_origins::ReturnOrigins};
use serde::de::DeserializeOwned;

/// Returns the credentials in `Authorization`, or `None` if they are missing or malformed.
pub fn authorization(headers: &HeaderMap) -> Option<rolegate_proto::Authorization> {
    credentials::authorization(headers).ok()
}

/// Parses the query of `/authorize`: the roles, the status of redirects, and whether only the cookie counts.
pub fn authorize(query: &str) -> Result<(Option<String>, StatusCode, bool), ApiError> {
    let query = AuthorizeQuery::read(&QueryParams::parse(query)?)?;
    Ok((query.roles, query.redirect_status, query.cookie_only))
}

/// Returns the token in the form of `/introspect`.
pub async fn introspect(request: Request) -> Result<String, ApiError> {
    read_token(request).await
}

/// Decodes a JSON body of at most `MAX` bytes.
pub async fn json<T: DeserializeOwned, const MAX: usize>(request: Request) -> Result<T, ApiError> {
    JsonBody::<T, MAX>::from_request(request, &())
        .await
        .map(|body| body.0)
}

/// Returns the address to which a browser is redirected after a sign-in, or `None` if the given address is not allowed.
pub fn return_address(given: &str, own: &Origin, others: &ReturnOrigins) -> Option<String> {
    let address = ReturnAddress::parse(given, own, others).ok()?;
    Some(address.location)
}
