//! Reads what Envoy sends.

use crate::accounts::{AccountError, Requirement};
use rolegate_proto::{
    Authorization, Role,
    envoy_auth_v3::{AttributeContext, HeaderValue, attribute_context::HttpRequest},
    metadata::AUTHORIZATION,
};
use std::{collections::HashMap, net::IpAddr};

/// Bytes of a host or a path in a log line.
const MAX_SHOWN: usize = 200;

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
        Some(_) => Err(AccountError::request("credentials must be cookie")),
    }
}

/// `author,admin`, or `*` for any user.
pub(crate) fn requirement(roles: &str) -> Result<Requirement, AccountError> {
    let malformed = |_| AccountError::request("roles must be names of roles");
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
        .filter(move |(it, _)| it.eq_ignore_ascii_case(name));
    let joined = joined.map(|(_, value)| Some(value.as_bytes()));
    let raw = http.header_map.iter().flat_map(|map| &map.headers);
    joined.chain(
        raw.filter(move |header| header.key.eq_ignore_ascii_case(name))
            .map(raw_value),
    )
}

/// A header has its value in one of two fields.
fn raw_value(header: &HeaderValue) -> Option<&[u8]> {
    let HeaderValue {
        value, raw_value, ..
    } = header;
    match (value.is_empty(), raw_value.is_empty()) {
        (false, false) => None,
        (false, true) => Some(value.as_bytes()),
        (true, _) => Some(raw_value),
    }
}

pub(crate) fn source_address(attributes: &AttributeContext) -> Option<IpAddr> {
    let address = attributes.source.as_ref()?.address.as_ref()?;
    let ip: IpAddr = address.socket_address.as_ref()?.address.parse().ok()?;
    Some(ip.to_canonical())
}

/// Method, host and path of the request, for the log: without the query, which may hold secrets.
pub(crate) fn route(attributes: &AttributeContext) -> (&str, &str, &str) {
    let Some(HttpRequest {
        method, host, path, ..
    }) = http(attributes)
    else {
        return ("", "", "");
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    (shortened(method), shortened(host), shortened(path))
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN)]
}

#[cfg(test)]
mod tests;
