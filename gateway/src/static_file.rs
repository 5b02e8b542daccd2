//! Serves files that browsers cache and revalidate.

use axum::{
    body::Bytes,
    response::{AppendHeaders, IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{
        ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
        ETAG, IF_NONE_MATCH, REFERRER_POLICY, VARY,
    },
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

#[derive(Debug)]
pub(crate) struct StaticFile {
    pub(crate) body: Bytes,
    /// The body, compressed with gzip; `None` if it is not compressed.
    pub(crate) compressed: Option<Bytes>,
    pub(crate) content_type: &'static str,
    pub(crate) content_policy: &'static str,
    pub(crate) caching: Caching,
}

/// How long browsers may use a file without asking for it again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Caching {
    /// Browsers revalidate the file each time.
    Revalidate,
    /// Browsers keep the file, because its name contains a digest of its content.
    Keep,
    /// Browsers do not keep the file.
    NoStore,
}

impl Caching {
    fn header(self) -> &'static str {
        match self {
            Self::Revalidate => "no-cache",
            Self::Keep => "public, max-age=31536000, immutable",
            Self::NoStore => "no-store",
        }
    }
}

impl StaticFile {
    /// Returns the file, or a 304 if the browser has it already. `request` holds the headers of the request.
    pub(crate) fn respond(&self, request: &HeaderMap) -> Response {
        let tag = entity_tag(&self.body);
        let headers = [
            (CONTENT_TYPE, self.content_type),
            (CONTENT_SECURITY_POLICY, self.content_policy),
            (OPENER_POLICY, "same-origin"),
            (REFERRER_POLICY, "no-referrer"),
            (CACHE_CONTROL, self.caching.header()),
            (ETAG, &tag),
        ];
        let is_known = request
            .get(IF_NONE_MATCH)
            .is_some_and(|known| matches(known.as_bytes(), &tag));
        let vary = self.compressed.iter().map(|_| (VARY, "Accept-Encoding"));
        let vary = AppendHeaders(vary);
        if is_known {
            return (StatusCode::NOT_MODIFIED, vary, headers).into_response();
        }
        match &self.compressed {
            Some(compressed) if accepts_gzip(request) => {
                let encoding = [(CONTENT_ENCODING, "gzip")];
                (vary, headers, encoding, compressed.clone()).into_response()
            }
            _ => (vary, headers, self.body.clone()).into_response(),
        }
    }
}

/// Returns whether `Accept-Encoding` (RFC 9110, section 12.5.3) names gzip.
fn accepts_gzip(request: &HeaderMap) -> bool {
    request
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| {
            let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
            let weight = weight.trim().strip_prefix("q=").unwrap_or("0");
            name.trim().eq_ignore_ascii_case("gzip")
                && weight.parse().is_ok_and(|weight: f32| weight > 0.0)
        })
}

/// Returns an entity tag, which changes whenever the text changes. It is weak, because the file may be compressed.
fn entity_tag(text: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("W/\"{:016x}\"", hasher.finish())
}

/// Returns `true` if `If-None-Match` (RFC 9110, section 13.1.2) lists the tag, as a weak or a strong one.
fn matches(known: &[u8], tag: &str) -> bool {
    let tag = strong(tag.as_bytes());
    known
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .any(|known| known == b"*" || strong(known) == tag)
}

fn strong(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::{accepts_gzip, matches};
    use http::{HeaderMap, HeaderValue, header::ACCEPT_ENCODING};

    #[test]
    fn gzip_is_used_if_a_browser_accepts_it() {
        for (accepted, is_used) in [
            (&["gzip"][..], true),
            (&["gzip, deflate, br"], true),
            (&["br", "GZIP;q=0.5"], true),
            (&["br;q=1.0, gzip; q=0.1"], true),
            (&["gzip;q=0"], false),
            (&["gzip;q=0.000"], false),
            (&["gzip;q=x"], false),
            (&["identity"], false),
            (&["x-gzip2"], false),
            (&["*"], false),
            (&[], false),
        ] {
            let mut headers = HeaderMap::new();
            for value in accepted {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            assert_eq!(accepts_gzip(&headers), is_used, "{accepted:?}");
        }
    }

    #[test]
    fn the_tag_is_found_among_those_that_a_browser_has() {
        for (known, has_it) in [
            (&b"\"a\", \"b\""[..], true),
            (b"W/\"b\"", true),
            (b"*", true),
            (b"b", false),
            (b"\"ab\"", false),
            (b"\xff", false),
            (b"", false),
        ] {
            assert_eq!(matches(known, "W/\"b\""), has_it, "{known:?}");
        }
    }
}
