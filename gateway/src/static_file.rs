//! Serves files that browsers cache and revalidate.

use axum::{
    body::Bytes,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, HeaderName, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    },
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");

#[derive(Debug)]
pub(crate) struct StaticFile {
    pub(crate) body: Bytes,
    pub(crate) content_type: &'static str,
    pub(crate) content_policy: &'static str,
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
            // Browsers revalidate the file each time, so that an upgrade never mixes files of two versions.
            (CACHE_CONTROL, "no-cache"),
            (ETAG, &tag),
        ];
        let is_known = request
            .get(IF_NONE_MATCH)
            .is_some_and(|known| matches(known.as_bytes(), &tag));
        if is_known {
            (StatusCode::NOT_MODIFIED, headers).into_response()
        } else {
            (headers, self.body.clone()).into_response()
        }
    }
}

/// Returns an entity tag, which changes whenever the text changes.
fn entity_tag(text: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// Returns `true` if `If-None-Match` (RFC 9110, section 13.1.2) lists the tag. A proxy may have made the tag weak.
fn matches(known: &[u8], tag: &str) -> bool {
    known
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .any(|known| known == b"*" || known.strip_prefix(b"W/").unwrap_or(known) == tag.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::matches;

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
            assert_eq!(matches(known, "\"b\""), has_it, "{known:?}");
        }
    }
}
