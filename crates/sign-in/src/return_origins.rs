//! Reads the setting `RETURN_ORIGINS`: the origins that people may come from and go back to.

use crate::{
    domain::{is_in_domain, is_public_suffix},
    origin::{Origin, is_secure},
};
use std::str::FromStr;
use url::Url;

/// The origins that people may come from and go back to.
#[derive(Clone, Debug, Default)]
pub struct ReturnOrigins {
    pub(crate) entries: Vec<ReturnOrigin>,
}

/// An origin, or a wildcard for all hosts below a domain.
#[derive(Clone, Debug)]
pub(crate) struct ReturnOrigin {
    /// The URL of the origin. A wildcard is stored without the `*.`.
    url: Url,
    /// True for a wildcard such as `https://*.example.org`. It allows all hosts below `example.org`, but not
    /// `example.org` itself.
    pub(crate) is_wildcard: bool,
}

impl ReturnOrigins {
    /// Tells whether one of the entries allows the origin.
    pub fn contains(&self, origin: &Origin) -> bool {
        self.entries.iter().any(|entry| entry.allows(origin))
    }
}

impl ReturnOrigin {
    /// Returns the host. For a wildcard, this is the domain above the allowed hosts.
    pub(crate) fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Tells whether the origin is this one, or for a wildcard, whether it is below the domain with the same scheme and
    /// port.
    fn allows(&self, origin: &Origin) -> bool {
        let url = origin.url();
        if !self.is_wildcard {
            return *url == self.url;
        }
        let host = url.host_str().unwrap_or_default();
        host != self.host()
            && is_in_domain(host, self.host())
            && self.url.scheme() == url.scheme()
            && self.url.port() == url.port()
    }

    /// Parses an entry of the list. Returns `None` if it is invalid.
    fn parse(entry: &str) -> Option<Self> {
        let Some((scheme, parent)) = entry.split_once("://*.") else {
            return Some(Self {
                url: parse_serialized(entry)?,
                is_wildcard: false,
            });
        };
        let url = parse_serialized(&format!("{scheme}://{parent}"))?;
        let domain = url.domain()?;
        // Hosts below a top-level domain or a public suffix belong to many owners.
        if !domain.contains('.') || is_public_suffix(domain) {
            return None;
        }
        Some(Self {
            url,
            is_wildcard: true,
        })
    }
}

impl FromStr for ReturnOrigins {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let parse = |entry: &str| {
            ReturnOrigin::parse(entry).ok_or_else(|| {
                format!(
                    "must be origins as browsers send them, separated by commas, such as \
                     https://app.example.org or https://*.example.org (http for loopback only; * not below a public \
                     suffix); {entry:?} is not one"
                )
            })
        };
        let entries: Result<_, String> = text.split(',').map(str::trim).map(parse).collect();
        Ok(Self { entries: entries? })
    }
}

/// Reads a secure origin in the form in which browsers send it. Another form would never match.
fn parse_serialized(origin: &str) -> Option<Url> {
    let url = Url::parse(origin).ok()?;
    let is_serialized = url.origin().ascii_serialization() == origin && !origin.contains('*');
    if !is_serialized || !is_secure(&url) || url.port() == Some(0) {
        return None;
    }
    Some(url)
}

#[cfg(test)]
mod tests {
    use super::{Origin, ReturnOrigins};

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
