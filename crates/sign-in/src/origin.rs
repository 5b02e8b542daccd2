//! Reads origins (RFC 6454), and tells which origins are safe for passwords.

use crate::headers::{forwarded_scheme, single_value};
use http::{HeaderMap, header::HOST};
use url::{Host, Url};

/// An origin as browsers serialize it, such as `https://app.example.org` or `http://localhost:3000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The URL of the origin's root.
    url: Url,
}

impl Origin {
    /// Returns the origin of a URL with this scheme, `http` or `https`, and this `Host`. Returns `None` for other
    /// schemes and malformed hosts.
    pub fn new(scheme: &str, host: &str) -> Option<Self> {
        let is_authority = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
        if !matches!(scheme, "http" | "https") || !host.bytes().all(is_authority) {
            return None;
        }
        let url = Url::parse(&format!("{scheme}://{host}")).ok()?;
        Some(Self { url })
    }

    /// Returns the origin to which the request was sent: its `Host`, and the scheme in `X-Forwarded-Proto`, or `http`
    /// without that header. Returns `None` if `Host` is missing, repeated or malformed, or if `X-Forwarded-Proto` is
    /// malformed or names two schemes.
    ///
    /// A client may forge `X-Forwarded-Proto`, but a page of another origin cannot make a browser do so.
    pub fn from_request_headers(headers: &HeaderMap) -> Option<Self> {
        let scheme = forwarded_scheme(headers).ok()?.unwrap_or("http");
        Self::new(scheme, single_value(headers, HOST)?)
    }

    /// Returns the URL of the origin's root.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the origin as text, in the form that the header `Origin` has.
    pub fn serialized(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// Tells whether a password that is sent to this origin is safe: it is encrypted, or does not leave this machine.
    pub fn is_secure(&self) -> bool {
        is_secure(&self.url)
    }

    /// Tells whether the origin is on this machine and uses plain HTTP. Nothing leaves the machine, so no encryption is
    /// needed.
    pub fn is_plain_loopback(&self) -> bool {
        self.url.scheme() == "http" && is_loopback(&self.url)
    }
}

/// Tells whether the request came over HTTPS to a host that other machines can reach, as far as its headers say.
pub fn is_https_request(headers: &HeaderMap) -> bool {
    Origin::from_request_headers(headers)
        .is_some_and(|own| own.url.scheme() == "https" && !is_loopback(&own.url))
}

/// Tells whether a URL is safe for people who sign in: it is encrypted, or on this machine.
pub(crate) fn is_secure(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{Origin, is_https_request};
    use crate::{
        headers::{AmbiguousScheme, forwarded_scheme},
        request::BrowserRequest,
    };
    use http::{HeaderMap, HeaderValue};

    fn forwarded(lines: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append("host", HeaderValue::from_static("app.example.org"));
        for line in lines {
            let value = HeaderValue::from_bytes(line.as_bytes()).expect("a header value");
            headers.append("x-forwarded-proto", value);
        }
        headers
    }

    #[test]
    fn every_reader_takes_the_same_scheme_from_x_forwarded_proto() {
        for (lines, scheme) in [
            (&[][..], Ok(None)),
            (&["https"], Ok(Some("https"))),
            (&["HTTPS"], Ok(Some("https"))),
            (&["Https"], Ok(Some("https"))),
            (&[" https\t"], Ok(Some("https"))),
            (&["https,https"], Ok(Some("https"))),
            (&["https, HTTPS"], Ok(Some("https"))),
            (&["https", "https"], Ok(Some("https"))),
            (&["https,https", "HTTPS"], Ok(Some("https"))),
            (&["http"], Ok(Some("http"))),
            (&["HTTP, http"], Ok(Some("http"))),
            (&["https, http"], Err(AmbiguousScheme)),
            (&["http,https"], Err(AmbiguousScheme)),
            (&["https", "http"], Err(AmbiguousScheme)),
            (&["http", "https"], Err(AmbiguousScheme)),
            (&["https, https", "http"], Err(AmbiguousScheme)),
            (&[""], Err(AmbiguousScheme)),
            (&["https,"], Err(AmbiguousScheme)),
            (&[",https"], Err(AmbiguousScheme)),
            (&["https", ""], Err(AmbiguousScheme)),
            (&["https https"], Err(AmbiguousScheme)),
            (&["https;http"], Err(AmbiguousScheme)),
            (&["\"https\""], Err(AmbiguousScheme)),
            (&["https:"], Err(AmbiguousScheme)),
            (&["https://"], Err(AmbiguousScheme)),
            (&["wss"], Err(AmbiguousScheme)),
            (&["on"], Err(AmbiguousScheme)),
            (&["https\u{ff}"], Err(AmbiguousScheme)),
        ] {
            let headers = forwarded(lines);
            assert_eq!(forwarded_scheme(&headers), scheme, "{lines:?}");
            let is_https = scheme == Ok(Some("https"));
            assert_eq!(is_https_request(&headers), is_https, "{lines:?}");
            let origin = Origin::from_request_headers(&headers).map(|own| own.serialized());
            let expected = match scheme {
                Ok(scheme) => Some(format!("{}://app.example.org", scheme.unwrap_or("http"))),
                Err(AmbiguousScheme) => None,
            };
            assert_eq!(origin, expected, "{lines:?}");
            let browser = BrowserRequest::forwarded(&headers);
            assert_eq!(browser.scheme, scheme.ok().flatten(), "{lines:?}");
        }
    }

    #[test]
    fn a_list_that_disagrees_is_no_plain_http_on_loopback_either() {
        let mut headers = forwarded(&["https, http"]);
        headers.insert("host", HeaderValue::from_static("localhost:8000"));
        assert_eq!(Origin::from_request_headers(&headers), None);
    }

    #[test]
    fn origin_of_a_host_is_serialized_as_browsers_do() {
        for (scheme, host, origin) in [
            ("https", "app.example.org", "https://app.example.org"),
            ("https", "App.Example.org:443", "https://app.example.org"),
            ("http", "127.0.0.1:8000", "http://127.0.0.1:8000"),
            ("http", "[::1]:3000", "http://[::1]:3000"),
        ] {
            let serialized = Origin::new(scheme, host).expect("an origin").serialized();
            assert_eq!(serialized, origin, "{scheme} {host}");
        }
        for (scheme, host) in [
            ("https", ""),
            ("https", "a/b"),
            ("https", "me@app.example.org"),
            ("https", "a b"),
            ("https", "app.example.org:99999"),
            ("https", "a?b"),
            ("https", "a\\b"),
            ("https", "ä.example"),
            ("ftp", "app.example.org"),
            ("HTTPS", "app.example.org"),
            ("https,http", "app.example.org"),
        ] {
            assert_eq!(Origin::new(scheme, host), None, "{scheme} {host}");
        }
    }

    #[test]
    fn only_http_on_loopback_is_safe_without_encryption() {
        for host in [
            "localhost",
            "localhost:8000",
            "app.localhost",
            "127.1.2.3",
            "[::1]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(
                Origin::new("http", host)
                    .expect("an origin")
                    .is_plain_loopback(),
                "{host}"
            );
            assert!(
                !Origin::new("https", host)
                    .expect("an origin")
                    .is_plain_loopback(),
                "{host}"
            );
        }
        for host in [
            "example.org",
            "localhost.example.org",
            "127.0.0.1.example.org",
            "10.0.0.1",
            "[::2]",
        ] {
            assert!(
                !Origin::new("http", host)
                    .expect("an origin")
                    .is_plain_loopback(),
                "{host}"
            );
        }
    }
}
