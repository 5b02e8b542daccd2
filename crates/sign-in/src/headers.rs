//! Reads headers that must not be ambiguous, and headers with which proxies describe a request.

use http::{HeaderMap, HeaderName};
use rolegate_proto::metadata::only_value;

/// The header in which proxies say with which scheme the client reached them.
pub const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Returns the value of a header that occurs exactly once. Returns `None` if it is missing, repeated or not ASCII,
/// because a repeated header means different things to different programs.
pub fn single_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    only_value(headers.get_all(name))?.to_str().ok()
}

/// The error for an `X-Forwarded-Proto` that is malformed or names two schemes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmbiguousScheme;

/// Returns the scheme with which the client reached the first proxy, from `X-Forwarded-Proto`: `https` or `http`, in
/// any case. Returns `None` without the header.
///
/// Several proxies may have made the header a list, in one line or in several. All entries must agree, because it
/// depends on the proxies which entry is the client's scheme.
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

/// Returns `https` or `http` if the text is one of them, ignoring case (RFC 3986, section 3.1).
pub fn parse_scheme(text: &str) -> Option<&'static str> {
    ["https", "http"]
        .into_iter()
        .find(|scheme| text.eq_ignore_ascii_case(scheme))
}

/// Tells whether the request passed a proxy, as far as its headers say: browsers do not send these headers.
pub fn has_passed_proxy(headers: &HeaderMap) -> bool {
    let names = ["x-forwarded-for", "x-forwarded-proto", "forwarded"];
    names.iter().any(|name| headers.contains_key(*name))
}
