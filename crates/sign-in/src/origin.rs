//! Origins (RFC 6454).

use http::{HeaderMap, HeaderName, header};
use std::str::FromStr;
use url::{Host, Url};

const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// An origin as browsers serialize it, such as `https://app.example.org` or `http://localhost:3000`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(Url);

impl Origin {
    /// The origin of a URL with this scheme, `http` or `https`, and this `Host`; `None` if it has none.
    pub fn new(scheme: &str, host: &str) -> Option<Self> {
        let is_authority = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]_".contains(&byte);
        let is_valid = matches!(scheme, "http" | "https") && host.bytes().all(is_authority);
        let url = is_valid
            .then(|| Url::parse(&format!("{scheme}://{host}")).ok())
            .flatten()?;
        Some(Self(url))
    }

    /// The origin of the request: `Host`, and the scheme in `X-Forwarded-Proto`, or `http` without that header;
    /// `None` if one of them contradicts itself. That header may be forged, but not by a page of another origin.
    pub fn of_request(headers: &HeaderMap) -> Option<Self> {
        let scheme = forwarded_scheme(headers).ok()?.unwrap_or("http");
        Self::new(scheme, only(headers, header::HOST)?)
    }

    /// The root of the origin.
    pub fn url(&self) -> &Url {
        &self.0
    }

    /// As in the header `Origin`.
    pub fn serialized(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// Whether passwords cannot be read on the way: encrypted, or on this host.
    pub fn is_safe(&self) -> bool {
        is_safe(&self.0)
    }

    /// Whether the request came over HTTPS to a host that other machines can reach, as far as its headers say.
    pub fn is_https_request(headers: &HeaderMap) -> bool {
        if forwarded_scheme(headers) != Ok(Some("https")) {
            return false;
        }
        let own = only(headers, header::HOST).and_then(|host| Self::new("https", host));
        own.is_some_and(|own| !is_loopback(&own.0))
    }

    /// Whether it is this host itself over plain HTTP, which needs no encryption.
    pub fn is_plain_loopback(&self) -> bool {
        self.0.scheme() == "http" && is_loopback(&self.0)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// `X-Forwarded-Proto` does not say one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousScheme;

/// The scheme by which the client came to the proxies, as `X-Forwarded-Proto` says: `https` or `http`, or `None`
/// without the header. Case does not count. Several proxies may have made a list, in one line or in several;
/// its entries must agree, because which of them is the client's depends on the proxies.
pub fn forwarded_scheme(headers: &HeaderMap) -> Result<Option<&'static str>, AmbiguousScheme> {
    let mut found = None;
    for line in headers.get_all(X_FORWARDED_PROTO) {
        let text = line.to_str().map_err(|_not_text| AmbiguousScheme)?;
        for entry in text.split(',') {
            let scheme = parse_scheme(entry.trim()).ok_or(AmbiguousScheme)?;
            if found.is_some_and(|other| other != scheme) {
                return Err(AmbiguousScheme);
            }
            found = Some(scheme);
        }
    }
    Ok(found)
}

/// Whether a request has a header that proxies set, and browsers do not.
pub fn has_passed_proxy(headers: &HeaderMap) -> bool {
    let names = ["x-forwarded-for", "x-forwarded-proto", "forwarded"];
    names.iter().any(|name| headers.contains_key(*name))
}

/// `https` or `http`, in any case (RFC 3986, section 3.1).
pub fn parse_scheme(text: &str) -> Option<&'static str> {
    ["https", "http"]
        .into_iter()
        .find(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// The value of a header that is given exactly once.
pub fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    values
        .next()
        .filter(|_| values.next().is_none())?
        .to_str()
        .ok()
}

/// Whether a URL is safe for people who sign in: encrypted, or on this host.
pub(crate) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

/// Whether anybody can have a host below this domain, as browsers see it: it is on the Public Suffix List.
pub(crate) fn is_public_suffix(domain: &str) -> bool {
    psl::suffix(domain.as_bytes())
        .is_some_and(|suffix| suffix.is_known() && suffix.as_bytes() == domain.as_bytes())
}

/// `RETURN_ORIGINS`: origins that people may come from and go back to, each with whether it stands for the hosts
/// below.
#[derive(Clone, Debug, Default)]
pub struct ReturnOrigins(Vec<(Url, bool)>);

impl ReturnOrigins {
    /// Whether one of them is the origin.
    pub fn contains(&self, Origin(url): &Origin) -> bool {
        self.0.iter().any(|(it, is_parent)| {
            let (host, known) = (
                url.host_str().unwrap_or_default(),
                it.host_str().unwrap_or_default(),
            );
            let below = host.strip_suffix(known).filter(|_| *is_parent);
            let is_host = below.map_or(host == known && !is_parent, |rest| rest.ends_with('.'));
            is_host && url.scheme() == it.scheme() && url.port() == it.port()
        })
    }
}

impl ReturnOrigins {
    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ReturnOrigin<'_>> {
        self.0.iter().map(|(url, is_parent)| ReturnOrigin {
            host: url.host_str().unwrap_or_default(),
            is_parent: *is_parent,
        })
    }
}

/// One of `RETURN_ORIGINS`.
pub(crate) struct ReturnOrigin<'a> {
    pub(crate) host: &'a str,
    /// It stands for the hosts below.
    pub(crate) is_parent: bool,
}

impl FromStr for ReturnOrigins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let entries = text.split(',').map(str::trim);
        let origins = entries.map(|entry| {
            return_origin(entry).ok_or_else(|| {
                format!(
                    "must be origins as browsers send them, separated by commas, such as \
                     https://app.example.org or https://*.example.org (http for loopback only; * not below a public \
                     suffix); {entry:?} is none"
                )
            })
        });
        origins.collect::<Result<_, _>>().map(Self)
    }
}

/// Reads an entry of the list, and whether it stands for the hosts below its own.
fn return_origin(entry: &str) -> Option<(Url, bool)> {
    let Some((scheme, parent)) = entry.split_once("://*.") else {
        return Some((serialized(entry)?, false));
    };
    let url = serialized(&format!("{scheme}://{parent}"))?;
    let is_of_one_owner = url
        .domain()
        .is_some_and(|name| name.contains('.') && !is_public_suffix(name));
    is_of_one_owner.then_some((url, true))
}

/// The URL of an origin in the form in which browsers send it, if it is safe.
fn serialized(origin: &str) -> Option<Url> {
    let url = Url::parse(origin).ok()?;
    let is_plain = url.origin().ascii_serialization() == origin && !origin.contains('*');
    (is_safe(&url) && is_plain && url.port() != Some(0)).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::{AmbiguousScheme, Origin, ReturnOrigins, forwarded_scheme};
    use crate::request::BrowserRequest;
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
            assert_eq!(Origin::is_https_request(&headers), is_https, "{lines:?}");
            let origin = Origin::of_request(&headers).map(|own| own.serialized());
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
        assert_eq!(Origin::of_request(&headers), None);
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

    #[test]
    fn return_origins_match_exactly_or_below_a_domain() {
        let origins: ReturnOrigins =
            "https://app.example.org, https://*.example.net,http://localhost:3000"
                .parse()
                .expect("valid");
        let contains =
            |scheme, host| origins.contains(&Origin::new(scheme, host).expect("an origin"));
        for (scheme, host) in [
            ("https", "app.example.org"),
            ("https", "app.example.org:443"),
            ("https", "a.example.net"),
            ("https", "a.b.example.net"),
            ("http", "localhost:3000"),
        ] {
            assert!(contains(scheme, host), "{scheme} {host}");
        }
        for (scheme, host) in [
            ("http", "app.example.org"),
            ("https", "app.example.org:8443"),
            ("https", "b.app.example.org"),
            ("https", "example.org"),
            ("https", "example.net"),
            ("https", "evilexample.net"),
            ("https", "a.example.net.evil.org"),
            ("https", "a.example.net:444"),
            ("http", "a.example.net"),
            ("http", "localhost"),
        ] {
            assert!(!contains(scheme, host), "{scheme} {host}");
        }
        assert!(
            !"".parse::<ReturnOrigins>()
                .expect("none")
                .contains(&Origin::new("https", "a.b").expect("one"))
        );
    }

    #[test]
    fn other_forms_of_return_origins_are_rejected() {
        for wrong in [
            "*",
            "null",
            "app.example.org",
            "https://app.example.org/",
            "https://App.example.org",
            "https://app.example.org:443",
            "https://me@app.example.org",
            "http://app.example.org",
            "http://*.example.org",
            "https://*.org",
            "https://*",
            "https://*.",
            "https://*.127.0.0.1",
            "https://a.*.example.org",
            "https://a*.example.org",
            "https://a.example,",
            ",",
            "ftp://app.example.org",
        ] {
            assert!(wrong.parse::<ReturnOrigins>().is_err(), "{wrong}");
        }
    }
}
