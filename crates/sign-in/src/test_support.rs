//! Makes requests of browsers for unit tests.

use crate::request::BrowserRequest;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const COOKIE: (&str, &str) = ("cookie", "a=b; __Host-rolegate=rgs_A; c=d");
pub(crate) const PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");
pub(crate) const OWN: (&str, &str) = ("origin", "https://app.example.org");

pub(crate) fn headers(list: &[(&str, &str)]) -> HeaderMap {
    let header = |(name, value): &(&str, &str)| {
        (
            HeaderName::try_from(*name).expect("valid"),
            HeaderValue::from_str(value).expect("valid"),
        )
    };
    list.iter().map(header).collect()
}

pub(crate) fn request<'a>(method: Option<&'a str>, headers: &'a HeaderMap) -> BrowserRequest<'a> {
    BrowserRequest {
        method,
        scheme: Some("https"),
        host: Some("app.example.org"),
        path: Some("/a?b=c&d"),
        headers,
    }
}
