//! Checks the headers that say what the bytes of a body mean: `Content-Type`, `Content-Encoding` and
//! `Transfer-Encoding`.
//!
//! Values that this program does not support are refused with 415. If such a header were read as absent, the bytes
//! would be taken for something that the client did not send.

use http::{
    HeaderMap, HeaderName,
    header::{CONTENT_ENCODING, CONTENT_TYPE, TRANSFER_ENCODING},
};
use rolegate_auth_client::axum::ApiError;
use rolegate_proto::http::HttpReason;
use rolegate_sign_in::headers::single_value;

/// Rejects with 415 a body that is compressed or has another content coding (RFC 9110, section 8.4); `identity` stands
/// for no coding. Also rejects every `Transfer-Encoding` except `chunked`, which is the only one that the server
/// decodes.
pub(crate) fn expect_no_coding(headers: &HeaderMap) -> Result<(), ApiError> {
    if !lists_only(headers, CONTENT_ENCODING, "identity") {
        return Err(unsupported("Content-Encoding is not supported."));
    }
    if !lists_only(headers, TRANSFER_ENCODING, "chunked") {
        return Err(unsupported("Transfer-Encoding must be chunked."));
    }
    Ok(())
}

/// Returns `true` if the header is missing, or lists no coding except `coding`.
fn lists_only(headers: &HeaderMap, name: HeaderName, coding: &str) -> bool {
    let is_coding = |entry: &str| {
        let entry = entry.trim();
        entry.is_empty() || entry.eq_ignore_ascii_case(coding)
    };
    headers.get_all(name).iter().all(|line| {
        line.to_str()
            .is_ok_and(|text| text.split(',').all(is_coding))
    })
}

/// Rejects the request with 415, unless it has exactly one `Content-Type`, which is well-formed and which `is_right`
/// accepts. `is_right` gets the media type in lower case and without parameters, and `wrong` is the `detail` of the
/// error.
///
/// A charset other than UTF-8 is rejected with a `detail` of its own, because the body would be read as UTF-8.
pub(crate) fn expect_media_type(
    headers: &HeaderMap,
    wrong: &'static str,
    is_right: impl FnOnce(&str) -> bool,
) -> Result<(), ApiError> {
    let media_type = single_value(headers, CONTENT_TYPE)
        .and_then(MediaType::parse)
        .filter(|media_type| is_right(&media_type.essence))
        .ok_or_else(|| unsupported(wrong))?;
    if !media_type.is_utf8() {
        return Err(unsupported("The charset of Content-Type must be utf-8."));
    }
    Ok(())
}

fn unsupported(detail: &'static str) -> ApiError {
    ApiError::http(HttpReason::MediaTypeUnsupported, detail)
}

/// A media type (RFC 9110, section 8.3.1).
struct MediaType {
    /// The type and the subtype, in lower case.
    essence: String,
    /// The values of all parameters `charset`, in their order.
    charsets: Vec<String>,
}

impl MediaType {
    /// Parses a media type with its parameters. Returns `None` if it is malformed.
    fn parse(text: &str) -> Option<Self> {
        let (essence, mut rest) = text.split_once(';').unwrap_or((text, ""));
        let essence = essence.trim().to_ascii_lowercase();
        let (main, subtype) = essence.split_once('/')?;
        if !is_token(main) || !is_token(subtype) {
            return None;
        }
        let mut charsets = Vec::new();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ';']);
            if rest.is_empty() {
                return Some(Self { essence, charsets });
            }
            let (name, value) = rest.split_once('=')?;
            let (value, after) = parameter_value(value)?;
            if !is_token(name) {
                return None;
            }
            if name.eq_ignore_ascii_case("charset") {
                charsets.push(value);
            }
            let after = after.trim_start_matches([' ', '\t']);
            if !after.is_empty() && !after.starts_with(';') {
                return None;
            }
            rest = after;
        }
    }

    /// Returns `true` if the body may be read as UTF-8: no charset is given, or it is UTF-8 or ASCII, which is a part
    /// of UTF-8. Different charsets contradict each other, so the result is `false`.
    fn is_utf8(&self) -> bool {
        let Some((first, others)) = self.charsets.split_first() else {
            return true;
        };
        let is_utf8 = ["utf-8", "utf8", "us-ascii"]
            .iter()
            .any(|name| first.eq_ignore_ascii_case(name));
        is_utf8 && others.iter().all(|other| other.eq_ignore_ascii_case(first))
    }
}

/// Returns the value at the start of `text`, a token or a quoted string, and the text after it. Returns `None` if the
/// value is malformed.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ';']).unwrap_or(text.len());
        let (value, after) = text.split_at(end);
        if !is_token(value) {
            return None;
        }
        return Some((value.to_owned(), after));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

/// Tells whether the text is a token (RFC 9110, section 5.6.2).
fn is_token(text: &str) -> bool {
    let is_token_byte =
        |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

#[cfg(test)]
mod tests {
    use super::{expect_media_type, expect_no_coding};
    use http::{HeaderMap, HeaderName, HeaderValue};
    use rolegate_auth_client::axum::ApiError;

    const WRONG: &str = "Content-Type must be text/a.";
    const CHARSET: &str = "The charset of Content-Type must be utf-8.";

    fn headers(name: &'static str, values: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for value in values {
            let value = HeaderValue::from_bytes(value.as_bytes()).expect("a header value");
            headers.append(HeaderName::from_static(name), value);
        }
        headers
    }

    #[track_caller]
    fn assert_refused(outcome: Result<(), ApiError>, detail: &str, given: &[&str]) {
        let error = outcome.expect_err(detail);
        let answer = (error.status().as_u16(), error.reason(), error.detail());
        let expected = (415, "MEDIA_TYPE_UNSUPPORTED", detail);
        assert_eq!(answer, expected, "{:?}", given.first());
    }

    #[test]
    fn only_a_body_without_a_content_coding_is_accepted() {
        for good in [
            &[][..],
            &["identity"],
            &["Identity"],
            &["identity, identity"],
            &["identity", "identity"],
            &[""],
        ] {
            expect_no_coding(&headers("content-encoding", good)).expect("no coding");
        }
        for coded in [
            &["gzip"][..],
            &["GZIP"],
            &["x-gzip"],
            &["deflate"],
            &["br"],
            &["zstd"],
            &["compress"],
            &["aes128gcm"],
            &["dc"],
            &["chunked"],
            &["none"],
            &["*"],
            &["identity;q=1"],
            &["identity gzip"],
            &["identity, gzip"],
            &["gzip, identity"],
            &["identity", "gzip"],
            &["gzip", "identity"],
            &["\u{ff}"],
        ] {
            let outcome = expect_no_coding(&headers("content-encoding", coded));
            assert_refused(outcome, "Content-Encoding is not supported.", coded);
        }
    }

    #[test]
    fn the_only_transfer_coding_is_chunked() {
        for good in [&[][..], &["chunked"], &["Chunked"]] {
            expect_no_coding(&headers("transfer-encoding", good)).expect("chunks only");
        }
        for coded in [
            &["gzip, chunked"][..],
            &["gzip", "chunked"],
            &["identity, chunked"],
            &["xchunked"],
        ] {
            let outcome = expect_no_coding(&headers("transfer-encoding", coded));
            assert_refused(outcome, "Transfer-Encoding must be chunked.", coded);
        }
    }

    #[test]
    fn a_content_type_is_given_once_well_formed_and_in_utf_8() {
        let expect = |values: &[&str]| {
            let headers = headers("content-type", values);
            expect_media_type(&headers, WRONG, |essence| essence == "text/a")
        };
        for good in [
            "text/a",
            "Text/A",
            " text/a ",
            "text/a;",
            "text/a ; ; charset=utf-8",
            "text/a;charset=\"UTF-8\"",
            "text/a;charset=\"ut\\f-8\"",
            "text/a; charset=us-ascii; x=\"a;charset=utf-16\"",
            "text/a; charset=utf-8; charset=UTF-8",
            "text/a; x=1\t; y=2",
        ] {
            expect(&[good]).expect(good);
        }
        for wrong in [
            &[][..],
            &[""],
            &["text"],
            &["text/"],
            &["/a"],
            &["text/"],
            &["text/a/a"],
            &["text /a"],
            &["text/a, text/a"],
            &["text/a text/"],
            &["text/a; charset"],
            &["text/a; charset="],
            &["text/a; =utf-8"],
            &["text/a; charset = utf-8"],
            &["text/a; charset=\"utf-8"],
            &["text/a; charset=\"utf-8\\"],
            &["text/a; charset=\"utf-8\"x"],
            &["text/a; charset=utf-8 x"],
            &["text/a; x=1, text/"],
            &["text/a\u{ff}"],
            &["text/a", "text/a"],
            &["text/a", "text/"],
        ] {
            assert_refused(expect(wrong), WRONG, wrong);
        }
        for other in [
            &["text/a; charset=utf-16"][..],
            &["text/a; charset=\"iso-8859-1\""],
            &["text/a; CHARSET=latin1"],
            &["text/a; charset=utf-8; charset=utf-16"],
            &["text/a; charset=utf-16; charset=utf-8"],
        ] {
            assert_refused(expect(other), CHARSET, other);
        }
    }
}
