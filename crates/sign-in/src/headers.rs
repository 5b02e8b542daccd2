//! Reads headers that must not be ambiguous, and what proxies say in headers that browsers do not send.

use http::{HeaderMap, HeaderName};

const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The value of a header that is given exactly once.
pub fn single_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}

/// `X-Forwarded-Proto` does not say one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousScheme;

/// Reads the scheme by which the client came to the proxies from `X-Forwarded-Proto`: `https` or `http`, or `None`
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

/// Reads `https` or `http`, in any case (RFC 3986, section 3.1).
pub fn parse_scheme(text: &str) -> Option<&'static str> {
    ["https", "http"]
        .into_iter()
        .find(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// Tells whether a request has a header that proxies set, and browsers do not.
pub fn has_passed_proxy(headers: &HeaderMap) -> bool {
    let names = ["x-forwarded-for", "x-forwarded-proto", "forwarded"];
    names.iter().any(|name| headers.contains_key(*name))
}
