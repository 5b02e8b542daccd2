//! The parts of this crate that the targets in `fuzz/` call; compiled for them only.

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

/// The credentials of a request.
pub fn authorization(headers: &HeaderMap) -> Option<rolegate_proto::Authorization> {
    credentials::authorization(headers).ok()
}

/// The roles, the status of redirects, and whether only the cookie counts, in the query of `/authorize`.
pub fn authorize(query: &str) -> Result<(Option<String>, StatusCode, bool), ApiError> {
    let query = AuthorizeQuery::read(&QueryParams::parse(query)?)?;
    Ok((query.roles, query.redirect_status, query.cookie_only))
}

/// The token in the form of `/introspect`.
pub async fn introspect(request: Request) -> Result<String, ApiError> {
    read_token(request).await
}

/// A body of at most `MAX` bytes.
pub async fn json<T: DeserializeOwned, const MAX: usize>(request: Request) -> Result<T, ApiError> {
    JsonBody::<T, MAX>::from_request(request, &())
        .await
        .map(|body| body.0)
}

/// Where a browser is sent after a sign-in.
pub fn return_address(given: &str, own: &Origin, others: &ReturnOrigins) -> Option<String> {
    let address = ReturnAddress::parse(given, own, others).ok()?;
    Some(address.location)
}
