//! Reads Envoy's description of a request and the configuration of its route.

use crate::accounts::{AccountError, Requirement};
use http::{HeaderMap, HeaderName, HeaderValue};
use rolegate_proto::{
    Authorization, GroupName, Role,
    envoy_auth_v3::{self, AttributeContext, attribute_context::HttpRequest},
    metadata::AUTHORIZATION,
};
use rolegate_sign_in::{
    headers::parse_scheme,
    request::{BROWSER_HEADERS, BrowserRequest},
};
use std::net::IpAddr;

/// The maximum length of a method, host or path in a log line, in bytes.
const MAX_LOGGED_BYTES: usize = 200;

/// The attributes that Envoy sends about a request and the configuration of its route.
#[derive(Clone, Copy)]
pub(crate) struct RequestAttributes<'r> {
    pub(crate) context: &'r AttributeContext,
}

/// The credentials in the `Authorization` header of a request.
pub(crate) enum AuthorizationHeader {
    Missing,
    /// The header is malformed, has another scheme, or is repeated, so that it is ambiguous which value counts.
    Invalid,
    Valid(Authorization),
}

impl<'r> RequestAttributes<'r> {
    /// Returns the roles and groups in the configuration of the route. No client can set these values.
    pub(super) fn required_names(self) -> RequiredNames<'r> {
        RequiredNames {
            roles: self.extension("roles"),
            groups: self.extension("groups"),
        }
    }

    /// Returns the value `credentials` in the configuration of the route; `None` if it is missing. It is no
    /// secret: it says which kinds of credentials count.
    pub(super) fn credentials_setting(self) -> Option<&'r str> {
        self.extension("credentials")
    }

    fn extension(self, name: &str) -> Option<&'r str> {
        self.context
            .context_extensions
            .get(name)
            .map(String::as_str)
    }

    /// Returns whether the configuration of the route says that only the cookie counts. The `Authorization`
    /// header is then meant for the application. Fails if the configuration has an unknown value.
    pub(super) fn is_cookie_only(self) -> Result<bool, AccountError> {
        match self.credentials_setting() {
            None => Ok(false),
            Some("cookie") => Ok(true),
            Some(_) => Err(AccountError::invalid_request("credentials must be cookie")),
        }
    }

    /// Returns the HTTP request that Envoy has received; `None` if Envoy describes none.
    fn http(self) -> Option<&'r HttpRequest> {
        self.context.request.as_ref()?.http.as_ref()
    }

    /// Returns the values of a header. Envoy sends headers as a map, in which the values of a repeated header
    /// are joined. With `encode_raw_headers`, it sends a list of headers whose values are bytes. `None` stands for an
    /// ambiguous value.
    fn header_values(self, name: &str) -> impl Iterator<Item = Option<&'r [u8]>> {
        self.http().into_iter().flat_map(move |http| {
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
        })
    }

    /// Returns whether there is an `Authorization` header, even an invalid one. Unlike [`Self::authorization`],
    /// it parses nothing.
    pub(super) fn has_authorization(self) -> bool {
        self.header_values(AUTHORIZATION).next().is_some()
    }

    /// Parses the `Authorization` header. A repeated header is invalid, even if all its values are the same.
    pub(crate) fn authorization(self) -> AuthorizationHeader {
        let mut values = self.header_values(AUTHORIZATION);
        let Some(first) = values.next() else {
            return AuthorizationHeader::Missing;
        };
        if values.next().is_some() {
            return AuthorizationHeader::Invalid;
        }
        match first.and_then(Authorization::parse) {
            Some(authorization) => AuthorizationHeader::Valid(authorization),
            None => AuthorizationHeader::Invalid,
        }
    }

    /// Returns the headers that tell whether and why a browser sent the request, such as `Cookie` and `Origin`.
    pub(crate) fn browser_headers(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for name in BROWSER_HEADERS {
            for value in self.header_values(name) {
                // An invalid value counts as an empty one, so that the header is not overlooked.
                let value = HeaderValue::from_bytes(value.unwrap_or_default());
                headers.append(
                    // `from_static` panics if a name has capitals; these constants have none.
                    HeaderName::from_static(name),
                    value.unwrap_or(HeaderValue::from_static("")),
                );
            }
        }
        headers
    }

    /// Returns the parts of the request that show whether and why a browser sent it; `None` if Envoy describes
    /// no HTTP request.
    pub(super) fn browser_parts(self) -> Option<BrowserParts<'r>> {
        Some(BrowserParts {
            http: self.http()?,
            headers: self.browser_headers(),
        })
    }

    /// Returns whether this request changes something and another site may have caused it. Its credentials do
    /// not prove otherwise, because a browser adds a remembered password even to such a request.
    pub(super) fn is_cross_site_change(self) -> bool {
        self.browser_parts()
            .is_some_and(|parts| parts.request().is_cross_site_change())
    }

    /// Returns the IP address of Envoy's client; `None` if Envoy does not name a valid one.
    pub(crate) fn source_address(self) -> Option<IpAddr> {
        let address = self.context.source.as_ref()?.address.as_ref()?;
        let ip: IpAddr = address.socket_address.as_ref()?.address.parse().ok()?;
        Some(ip.to_canonical())
    }

    pub(crate) fn target(self) -> RequestTarget<'r> {
        let Some(http) = self.http() else {
            return RequestTarget::default();
        };
        let path = http.path.split(['?', '#']).next().unwrap_or_default();
        RequestTarget {
            method: shorten(&http.method),
            host: shorten(&http.host),
            path: shorten(path),
        }
    }
}

/// Returns the value of a header in Envoy's list. Envoy sets only one of two fields; `None` if both are set, because it
/// is ambiguous which one counts.
fn raw_value(header: &envoy_auth_v3::HeaderValue) -> Option<&[u8]> {
    match (header.value.is_empty(), header.raw_value.is_empty()) {
        (false, false) => None,
        (false, true) => Some(header.value.as_bytes()),
        (true, _) => Some(&header.raw_value),
    }
}

/// Owns the headers that a [`BrowserRequest`] borrows.
pub(super) struct BrowserParts<'r> {
    http: &'r HttpRequest,
    headers: HeaderMap,
}

impl BrowserParts<'_> {
    pub(super) fn request(&self) -> BrowserRequest<'_> {
        BrowserRequest {
            method: Some(&self.http.method),
            scheme: parse_scheme(&self.http.scheme),
            host: Some(&self.http.host),
            path: Some(&self.http.path),
            headers: &self.headers,
        }
    }
}

/// The target of a request, as log lines name it: without the query, which may hold secrets.
#[derive(Default)]
pub(crate) struct RequestTarget<'r> {
    pub(crate) method: &'r str,
    pub(crate) host: &'r str,
    pub(crate) path: &'r str,
}

impl RequestTarget<'_> {
    /// Returns the name of the target in the audit log: its host and path.
    pub(super) fn host_and_path(&self) -> String {
        format!("{}{}", self.host, self.path)
    }
}

fn shorten(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LOGGED_BYTES)]
}

/// The names of roles and groups that a route requires, each a text such as `author,admin`, or `None` if it is missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequiredNames<'r> {
    pub(crate) roles: Option<&'r str>,
    pub(crate) groups: Option<&'r str>,
}

impl RequiredNames<'_> {
    pub(super) fn is_missing(self) -> bool {
        self.roles.is_none() && self.groups.is_none()
    }
}

/// Parses the roles and groups of a route. The roles `*` admit any user, and cannot be combined with groups.
pub(super) fn parse_requirement(names: RequiredNames<'_>) -> Result<Requirement, AccountError> {
    if names.roles == Some("*") && names.groups.is_none() {
        return Ok(Requirement::AnyAuthenticated);
    }
    let roles = names.roles.map(Role::parse_list).transpose();
    let groups = names.groups.map(GroupName::parse_list).transpose();
    let invalid = AccountError::invalid_request;
    Ok(Requirement::AnyOf {
        roles: roles
            .map_err(|_| invalid("roles must be names of roles"))?
            .unwrap_or_default(),
        groups: groups
            .map_err(|_| invalid("groups must be names of groups"))?
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests;
