//! Reads what Envoy sends.

use crate::accounts::{AccountError, Requirement};
use rolegate_proto::{
    Authorization, Role,
    envoy_auth_v3::{AttributeContext, HeaderValue, attribute_context::HttpRequest},
    metadata::AUTHORIZATION,
};
use std::{collections::HashMap, net::IpAddr};

/// The longest method, host or path in a log line, in bytes.
const MAX_LOGGED_BYTES: usize = 200;

/// `roles` of the route's configuration, which no client can set.
pub(crate) fn roles(extensions: &HashMap<String, String>) -> Option<&str> {
    extensions.get("roles").map(String::as_str)
}

/// Whether only the cookie counts, by `credentials` of the route's configuration. The `Authorization` of the request is
/// for the application then.
pub(crate) fn is_cookie_only(extensions: &HashMap<String, String>) -> Result<bool, AccountError> {
    match extensions.get("credentials").map(String::as_str) {
        None => Ok(false),
        Some("cookie") => Ok(true),
        Some(_) => Err(AccountError::invalid_request("credentials must be cookie")),
    }
}

/// `author,admin`, or `*` for any user.
pub(crate) fn requirement(roles: &str) -> Result<Requirement, AccountError> {
    let malformed = |_| AccountError::invalid_request("roles must be names of roles");
    match roles {
        "*" => Ok(Requirement::AnyAuthenticated),
        names => Role::parse_list(names)
            .map(Requirement::Roles)
            .map_err(malformed),
    }
}

/// The credentials of the only `authorization` header. Envoy sends headers as a map, which joins
/// repeated ones, or with `encode_raw_headers` as a list of bytes.
pub(crate) fn authorization(attributes: &AttributeContext) -> Option<Authorization> {
    let mut values = values(http(attributes)?, AUTHORIZATION);
    let (Some(value), None) = (values.next(), values.next()) else {
        return None;
    };
    Authorization::parse(value?)
}

/// The request of Envoy's client.
pub(crate) fn http(attributes: &AttributeContext) -> Option<&HttpRequest> {
    attributes.request.as_ref()?.http.as_ref()
}

/// The values of a header; `None` for one that is given in both fields.
pub(crate) fn values<'a>(
    http: &'a HttpRequest,
    name: &str,
) -> impl Iterator<Item = Option<&'a [u8]>> {
    let joined = http
        .headers
        .iter()
        .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| Some(value.as_bytes()));
    let raw = http
        .header_map
        .iter()
        .flat_map(|map| &map.headers)
        .filter(move |header| header.key.eq_ignore_ascii_case(name))
        .map(raw_value);
    joined.chain(raw)
}

/// A header has its value in one of two fields.
fn raw_value(header: &HeaderValue) -> Option<&[u8]> {
    match (header.value.is_empty(), header.raw_value.is_empty()) {
        (false, false) => None,
        (false, true) => Some(header.value.as_bytes()),
        (true, _) => Some(&header.raw_value),
    }
}

pub(crate) fn source_address(attributes: &AttributeContext) -> Option<IpAddr> {
    let address = attributes.source.as_ref()?.address.as_ref()?;
    let ip: IpAddr = address.socket_address.as_ref()?.address.parse().ok()?;
    Some(ip.to_canonical())
}

/// What a request is for, as the log names it: without the query, which may hold secrets.
pub(crate) struct RequestTarget<'r> {
    pub(crate) method: &'r str,
    pub(crate) host: &'r str,
    pub(crate) path: &'r str,
}

impl RequestTarget<'_> {
    /// Host and path.
    pub(super) fn route(&self) -> String {
        format!("{}{}", self.host, self.path)
    }
}

pub(crate) fn target(attributes: &AttributeContext) -> RequestTarget<'_> {
    let Some(http) = http(attributes) else {
        return RequestTarget {
            method: "",
            host: "",
            path: "",
        };
    };
    let path = http.path.split(['?', '#']).next().unwrap_or_default();
    RequestTarget {
        method: shortened(&http.method),
        host: shortened(&http.host),
        path: shortened(path),
    }
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LOGGED_BYTES)]
}

#[cfg(test)]
mod tests;
