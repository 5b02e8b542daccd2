//! Reads and writes the cookies that hold a session.
//!
//! A prefix in the name of a cookie says who may set it (RFC 6265bis, section 4.1.3). With `__Host-`, only an encrypted
//! page of the same host may. With `__Secure-`, which the cookie of a domain has, any host of the domain may, but no
//! unencrypted page. On loopback without TLS, names have no prefix. The cookies are `HttpOnly`, so no script reads
//! them.
//!
//! A value with the form of a session is a *candidate*: only auth-service knows whether it is a valid session.

use crate::origin::Origin;
use http::{HeaderMap, HeaderValue, header};
use rolegate_proto::limits::{DOMAIN_SESSION_PREFIX, SESSION_PREFIX};
use secrecy::{ExposeSecret as _, SecretString};

/// The maximum length of a value that is read as a candidate, in bytes. A session has 47 bytes.
const MAX_VALUE_LEN: usize = 64;

/// The maximum number of different candidates of one request that are checked for a valid session.
pub const MAX_CANDIDATES: usize = 8;

/// A cookie that can hold a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cookie<'a> {
    name: &'static str,
    /// The domain whose hosts all receive the cookie. `None` if only the host that sets the cookie receives it.
    domain: Option<&'a str>,
}

/// The reason why a cookie is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieError {
    /// The cookie occurs twice where only one may be read ([`Cookie::find`]), or the request has more than
    /// [`MAX_CANDIDATES`] candidates.
    ///
    /// Another host may have set some of the cookies, and the request does not say which.
    TooMany,
    /// The cookie came with a request that may change something and that another site may have caused.
    CrossSite,
}

impl<'a> Cookie<'a> {
    /// Returns the cookie of the applications on the host with this origin.
    pub fn for_host(origin: Option<&Origin>) -> Self {
        Self::of_one_host(origin, "rolegate", "__Host-rolegate")
    }

    /// Returns the cookie that applications on all hosts of a domain share.
    pub const fn for_domain(domain: &'a str) -> Self {
        Self {
            name: "__Secure-rolegate",
            domain: Some(domain),
        }
    }

    /// Returns the cookie of the console at this origin.
    pub fn for_console(origin: Option<&Origin>) -> Self {
        Self::of_one_host(origin, "rolegate-console", "__Host-rolegate-console")
    }

    /// Returns a cookie that only the host with this origin receives. Browsers accept no prefix over plain HTTP, so the
    /// cookie then has the name `plain`. An unknown origin counts as encrypted.
    fn of_one_host(origin: Option<&Origin>, plain: &'static str, prefixed: &'static str) -> Self {
        let is_plain = origin.is_some_and(Origin::is_plain_loopback);
        Self {
            name: if is_plain { plain } else { prefixed },
            domain: None,
        }
    }

    /// Tells whether the cookie is for all hosts of a domain. If it is, the session in it is not accepted as a bearer
    /// token.
    pub const fn has_domain(&self) -> bool {
        self.domain.is_some()
    }

    /// Returns the candidate in the only cookie of this name. Returns `None` if there is no such cookie, or if its
    /// value is no candidate. Fails if the cookie occurs twice. Searches all `Cookie` headers, because HTTP/2 allows
    /// several.
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

    /// Returns the different candidates in all cookies of this name. There can be several, because other hosts of a
    /// domain may have set some of the cookies. Leaves out candidates with characters that no session has.
    pub fn sessions(&self, headers: &HeaderMap) -> Vec<SecretString> {
        let is_base64url = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let mut sessions = self.candidates(headers);
        sessions.retain(|session| session.expose_secret().bytes().all(is_base64url));
        sessions
    }

    /// Returns the different candidates in all cookies of this name.
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

    /// Returns the value of every cookie of this name in all `Cookie` headers.
    fn values<'h>(&self, headers: &'h HeaderMap) -> impl Iterator<Item = &'h [u8]> {
        let name = self.name;
        pairs(headers).filter_map(move |pair| value_of(pair, name))
    }

    fn parse_candidate(&self, value: &[u8]) -> Option<SecretString> {
        let text = str::from_utf8(value).ok()?;
        if text.len() > MAX_VALUE_LEN || !text.starts_with(self.session_prefix()) {
            return None;
        }
        Some(text.into())
    }

    /// Returns the prefix of the tokens that the cookie can hold.
    const fn session_prefix(&self) -> &'static str {
        if self.has_domain() {
            DOMAIN_SESSION_PREFIX
        } else {
            SESSION_PREFIX
        }
    }

    /// Returns the `Set-Cookie` that keeps this session for `max_age` seconds.
    ///
    /// Returns `None` for a session of the wrong kind, which would not be found in this cookie. The session must
    /// consist of base64url characters.
    pub fn set(&self, session: &SecretString, max_age: u64) -> Option<HeaderValue> {
        let session = session.expose_secret();
        if !session.starts_with(self.session_prefix()) {
            return None;
        }
        let mut header = HeaderValue::from_str(&self.set_cookie(session, max_age)).ok()?;
        header.set_sensitive(true);
        Some(header)
    }

    /// Returns the `Set-Cookie` that removes the cookie.
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

/// Returns the pairs of names and values in all `Cookie` headers. There may be white space around them.
pub fn pairs(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|&byte| byte == b';'))
}

/// Tells whether a session is one of `sessions`.
pub fn contains_session(sessions: &[SecretString], session: &SecretString) -> bool {
    sessions
        .iter()
        .any(|other| other.expose_secret() == session.expose_secret())
}

/// Returns the value if `pair` is a cookie of this name, and `None` otherwise.
fn value_of<'h>(pair: &'h [u8], name: &str) -> Option<&'h [u8]> {
    let rest = pair.trim_ascii_start().strip_prefix(name.as_bytes())?;
    match rest.trim_ascii_start() {
        // A cookie without "=" has an empty value.
        [] => Some(&[]),
        [b'=', value @ ..] => Some(value.trim_ascii()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
