//! The cookies that hold a session.
//!
//! The prefixes of their names (RFC 6265bis, section 4.1.3) keep other hosts, and pages without encryption,
//! from setting them. No script reads them.
//!
//! A value with the form of a session is a *candidate*: only auth-service knows whether it is a valid session.

use crate::origin::Origin;
use http::{HeaderMap, HeaderValue, header};
use rolegate_proto::limits::{DOMAIN_SESSION_PREFIX, SESSION_PREFIX};
use secrecy::{ExposeSecret as _, SecretString};

/// The greatest number of bytes of a value that may be a session; a session has 47.
const MAX_VALUE_LEN: usize = 64;

/// The greatest number of different candidates in one request of which the valid one is looked for.
pub const MAX_CANDIDATES: usize = 8;

/// A cookie that can hold a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    name: &'static str,
    /// The domain whose hosts all receive it; `None` for the host that sets it.
    domain: Option<&'a str>,
}

/// Why a cookie is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieError {
    /// The request has more such cookies than are looked at, so it is not known who set which.
    TooMany,
    /// The cookie came with a change that another site may have caused.
    CrossSite,
}

impl<'a> Cookie<'a> {
    /// The cookie of applications on one host, which is that of this origin.
    pub fn for_host(origin: Option<&Origin>) -> Self {
        let name = if is_plain_loopback(origin) {
            "rolegate"
        } else {
            "__Host-rolegate"
        };
        Self { name, domain: None }
    }

    /// The cookie of applications on all hosts of a domain.
    pub const fn for_domain(domain: &'a str) -> Self {
        Self {
            name: "__Secure-rolegate",
            domain: Some(domain),
        }
    }

    /// The cookie of the console, which is at this origin.
    pub fn for_console(origin: Option<&Origin>) -> Self {
        let name = if is_plain_loopback(origin) {
            "rolegate-console"
        } else {
            "__Host-rolegate-console"
        };
        Self { name, domain: None }
    }

    /// Tells whether its session is for a domain, and thus no bearer token.
    pub const fn has_domain(&self) -> bool {
        self.domain.is_some()
    }

    /// Reads the candidate in the only cookie of this name, from all `Cookie` headers: HTTP/2 allows several.
    pub fn find(&self, headers: &HeaderMap) -> Result<Option<SecretString>, CookieError> {
        let mut values = self.values(headers);
        let Some(value) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(CookieError::TooMany);
        }
        Ok(self.parse_candidate(value))
    }

    /// Reads the candidates in all cookies of this name that have no characters but those of a session, once each:
    /// other hosts of a domain may have set some of them.
    pub fn sessions(&self, headers: &HeaderMap) -> Vec<SecretString> {
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let mut sessions = self.candidates(headers);
        sessions.retain(|session| session.expose_secret().bytes().all(is_base64url));
        sessions
    }

    /// Reads the candidates in all cookies of this name, once each.
    pub(crate) fn candidates(&self, headers: &HeaderMap) -> Vec<SecretString> {
        let mut candidates: Vec<SecretString> = Vec::new();
        for value in self.values(headers) {
            if let Some(candidate) = self.parse_candidate(value)
                && !contains_session(&candidates, &candidate)
            {
                candidates.push(candidate);
            }
        }
        candidates
    }

    /// The value of every cookie of this name, in all headers.
    fn values<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h [u8]> {
        let name = self.name;
        headers
            .get_all(header::COOKIE)
            .iter()
            .flat_map(|line| line.as_bytes().split(|&byte| byte == b';'))
            .filter_map(move |pair| value_of(pair, name))
    }

    fn parse_candidate(&self, value: &[u8]) -> Option<SecretString> {
        let text = str::from_utf8(value).ok()?;
        if text.len() > MAX_VALUE_LEN || !text.starts_with(self.session_prefix()) {
            return None;
        }
        Some(text.into())
    }

    /// The prefix of the tokens that the cookie can hold.
    const fn session_prefix(&self) -> &'static str {
        if self.has_domain() {
            DOMAIN_SESSION_PREFIX
        } else {
            SESSION_PREFIX
        }
    }

    /// `Set-Cookie` with this session, for so many seconds; `None` for a session that would not be found in it. The
    /// session must have no character but those of base64url.
    pub fn set(&self, session: &SecretString, max_age: u64) -> Option<HeaderValue> {
        let session = session.expose_secret();
        if !session.starts_with(self.session_prefix()) {
            return None;
        }
        let mut header = HeaderValue::from_str(&self.set_cookie(session, max_age)).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// `Set-Cookie` that removes the cookie.
    pub fn remove(&self) -> String {
        self.set_cookie("", 0)
    }

    fn set_cookie(&self, value: &str, max_age: u64) -> String {
        let name = self.name;
        let domain = match self.domain {
            Some(domain) => format!("; Domain={domain}"),
            None => String::new(),
        };
        let secure = if name.starts_with("__") {
            "; Secure"
        } else {
            ""
        };
        format!("{name}={value}; Path=/{domain}; Max-Age={max_age}; HttpOnly{secure}; SameSite=Lax")
    }
}

/// Tells whether a session is among these.
pub fn contains_session(sessions: &[SecretString], session: &SecretString) -> bool {
    sessions
        .iter()
        .any(|other| other.expose_secret() == session.expose_secret())
}

/// Over plain HTTP, browsers accept no name with a prefix. An origin that is not known counts as one with encryption.
fn is_plain_loopback(origin: Option<&Origin>) -> bool {
    origin.is_some_and(Origin::is_plain_loopback)
}

/// Reads the value of a cookie of this name.
fn value_of<'h>(pair: &'h [u8], name: &str) -> Option<&'h [u8]> {
    let rest = pair.trim_ascii_start().strip_prefix(name.as_bytes())?;
    match rest.trim_ascii_start() {
        // A cookie may have no "=", and then has an empty value.
        [] => Some(&[]),
        [b'=', value @ ..] => Some(value.trim_ascii()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
