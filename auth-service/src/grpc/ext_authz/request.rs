//! Reads what Envoy sends.

use crate::accounts::Requirement;
use envoy_types::pb::envoy::{
    config::core::v3::{HeaderValue, address::Address},
    service::auth::v3::{AttributeContext, attribute_context::HttpRequest},
};
use rolegate_proto::{Authorization, Role, metadata::AUTHORIZATION};
use std::{collections::HashMap, net::IpAddr};

/// Bytes of a host or a path in a log line.
const MAX_SHOWN: usize = 200;

/// `roles` of the route's configuration, which no client can set: `author,admin`, or `*` for any user.
/// As text too. `None` if it is missing or names an unknown role.
pub(super) fn requirement(extensions: &HashMap<String, String>) -> Option<(&str, Requirement)> {
    let roles = extensions.get("roles")?.as_str();
    let requirement = match roles {
        "*" => Requirement::AnyAuthenticated,
        names => Requirement::Roles(Role::parse_list(names).ok()?),
    };
    Some((roles, requirement))
}

/// The credentials of the only `authorization` header. Envoy sends headers as a map, which joins
/// repeated ones, or with `encode_raw_headers` as a list of bytes.
pub(super) fn authorization(attributes: &AttributeContext) -> Option<Authorization> {
    let HttpRequest { headers, header_map, .. } = attributes.request.as_ref()?.http.as_ref()?;
    let is_it = |name: &str| name.eq_ignore_ascii_case(AUTHORIZATION);
    let joined = headers.iter().filter(|(name, _)| is_it(name));
    let joined = joined.map(|(_, value)| Some(value.as_bytes()));
    let raw = header_map.iter().flat_map(|map| &map.headers);
    let raw = raw.filter(|header| is_it(&header.key)).map(raw_value);
    let mut values = joined.chain(raw);
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    Authorization::parse(value?)
}

/// A header has its value in one of two fields.
fn raw_value(header: &HeaderValue) -> Option<&[u8]> {
    let HeaderValue { value, raw_value, .. } = header;
    match (value.is_empty(), raw_value.is_empty()) {
        (false, false) => None,
        (false, true) => Some(value.as_bytes()),
        (true, _) => Some(raw_value),
    }
}

/// The address of Envoy's client.
pub(super) fn source_address(attributes: &AttributeContext) -> Option<IpAddr> {
    match attributes.source.as_ref()?.address.as_ref()?.address.as_ref()? {
        Address::SocketAddress(socket) => {
            socket.address.parse().ok().map(|ip: IpAddr| ip.to_canonical())
        }
        _ => None,
    }
}

/// Method, host and path of the request, for the log: without the query, which may hold secrets.
pub(super) fn route(attributes: &AttributeContext) -> (&str, &str, &str) {
    let request = attributes.request.as_ref().and_then(|request| request.http.as_ref());
    let Some(HttpRequest { method, host, path, .. }) = request else { return ("", "", "") };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    (shortened(method), shortened(host), shortened(path))
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SHOWN)]
}

#[cfg(test)]
mod tests {
    use super::{authorization, requirement, route};
    use crate::accounts::Requirement;
    use envoy_types::pb::envoy::{
        config::core::v3::{HeaderMap, HeaderValue},
        service::auth::v3::{
            AttributeContext,
            attribute_context::{HttpRequest, Request},
        },
    };
    use rolegate_proto::{Authorization, Role};
    use secrecy::ExposeSecret as _;

    fn required(roles: &str) -> Option<Requirement> {
        requirement(&[("roles".to_owned(), roles.to_owned())].into()).map(|(_, required)| required)
    }

    #[test]
    fn a_forgotten_or_misspelt_requirement_is_none() {
        assert_eq!(required("*"), Some(Requirement::AnyAuthenticated));
        let roles = Requirement::Roles(vec![Role::Author, Role::Admin]);
        assert_eq!(required("author,admin"), Some(roles));
        for invalid in ["", " ", "**", "author,*", "*,author", "Admin", "author, admin", "root"] {
            assert_eq!(required(invalid), None, "{invalid}");
        }
        assert_eq!(requirement(&[("Roles".to_owned(), "*".to_owned())].into()), None);
        assert_eq!(requirement(&[].into()), None);
    }

    fn with(http: HttpRequest) -> AttributeContext {
        let request = Some(Request { http: Some(http), ..Request::default() });
        AttributeContext { request, ..AttributeContext::default() }
    }

    fn token_of(joined: &[(&str, &str)], raw: &[(&str, &str, &[u8])]) -> Option<String> {
        let headers = joined.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        let raw = raw.iter().map(|&(key, value, raw_value)| HeaderValue {
            key: key.to_owned(),
            value: value.to_owned(),
            raw_value: raw_value.to_owned(),
        });
        let (headers, header_map) = (headers.collect(), Some(HeaderMap { headers: raw.collect() }));
        let http = HttpRequest { headers, header_map, ..HttpRequest::default() };
        match authorization(&with(http))? {
            Authorization::Bearer(token) => Some(token.expose_secret().to_owned()),
            Authorization::Basic { username, .. } => Some(username),
        }
    }

    #[test]
    fn exactly_one_header_of_text_is_read_from_either_form() {
        assert_eq!(token_of(&[("authorization", "Bearer a.b")], &[]).as_deref(), Some("a.b"));
        assert_eq!(token_of(&[("Authorization", "basic YTpi")], &[]).as_deref(), Some("a"));
        let raw = [("host", "", &b"x"[..]), ("authorization", "", b"Bearer a.b")];
        assert_eq!(token_of(&[], &raw).as_deref(), Some("a.b"));
        assert_eq!(token_of(&[], &[("authorization", "Bearer a.b", b"")]).as_deref(), Some("a.b"));
    }

    #[test]
    fn repeated_and_binary_headers_are_refused() {
        let one = ("authorization", "", &b"Bearer a.b"[..]);
        for raw in [
            &[one, one][..],
            &[one, ("Authorization", "", b"")],
            &[("authorization", "Bearer a.b", b"Bearer a.b")],
            &[("authorization", "", b"Bearer a.b\xff")],
            &[],
        ] {
            assert_eq!(token_of(&[], raw), None, "{raw:?}");
        }
        assert_eq!(token_of(&[("authorization", "Bearer a.b")], &[one]), None);
        assert_eq!(token_of(&[("authorization", "Bearer a.b,Bearer a.b")], &[]), None);
        assert!(authorization(&AttributeContext::default()).is_none());
    }

    #[test]
    fn the_route_has_no_query_and_a_bounded_length() {
        let (host, path) = ("h".to_owned(), format!("/a{}?token=hunter2", "\u{e9}".repeat(200)));
        let attributes = with(HttpRequest { host, path, ..HttpRequest::default() });
        let (_, host, path) = route(&attributes);
        assert!(host == "h" && path.starts_with("/a") && path.len() <= 200, "{path}");
        assert_eq!(route(&AttributeContext::default()), ("", "", ""));
    }
}
