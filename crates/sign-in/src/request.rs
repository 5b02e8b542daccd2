//! Describes a browser's request to an application. A proxy asks whether the request may pass.
//!
//! Browsers send cookies with requests that other sites cause, so a cookie alone allows only reading. A change must
//! come from a page of the application, which the browser declares in `Sec-Fetch-Site` (Fetch Metadata) or `Origin`.

use crate::{
    headers::{forwarded_scheme, single_value},
    origin::Origin,
};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, ORIGIN, REFERER, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE},
};
use url::{Position, Url};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The request headers of browsers that a decision reads, also to show a page in place of an application's, in lower
/// case. auth-service copies them from Envoy's description of a request.
pub const BROWSER_HEADERS: [&str; 10] = [
    "cookie",
    "origin",
    "sec-fetch-site",
    "sec-fetch-mode",
    "accept",
    "accept-language",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "referer",
];

/// A request of a browser to an application, as a proxy describes it.
#[derive(Clone, Copy, Debug)]
pub struct BrowserRequest<'a> {
    /// The method. `None` if the proxy did not send it.
    pub method: Option<&'a str>,
    /// The scheme, `http` or `https`. `None` if the proxy sent none or both.
    pub scheme: Option<&'a str>,
    /// The `Host`. `None` if the proxy did not send it.
    pub host: Option<&'a str>,
    /// The path with the query. `None` if the proxy did not send it.
    pub path: Option<&'a str>,
    /// The headers that the browser sent.
    pub headers: &'a HeaderMap,
}

impl<'a> BrowserRequest<'a> {
    /// Returns the request that a proxy describes in the headers of its own request for a decision.
    pub fn forwarded(headers: &'a HeaderMap) -> Self {
        let forwarded = |name| single_value(headers, HeaderName::from_static(name));
        Self {
            method: forwarded("x-forwarded-method"),
            // If the schemes disagree, the scheme is unknown. Then the request has no origin, so no cookie of plain
            // HTTP counts.
            scheme: forwarded_scheme(headers).ok().flatten(),
            host: forwarded("x-forwarded-host"),
            path: forwarded("x-forwarded-uri"),
            headers,
        }
    }

    pub(crate) fn origin(&self) -> Option<Origin> {
        Origin::new(self.scheme?, self.host?)
    }

    /// Tells whether the request may change something. A WebSocket begins with GET and may then do anything.
    pub(crate) fn can_change_state(&self) -> bool {
        self.can_send_form() || self.opens_websocket()
    }

    /// Tells whether the method may send a form. If it does, the form is lost when the person returns to the address by
    /// GET.
    pub(crate) fn can_send_form(&self) -> bool {
        !matches!(self.method, Some("GET" | "HEAD"))
    }

    fn opens_websocket(&self) -> bool {
        [UPGRADE, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION]
            .iter()
            .any(|name| self.headers.contains_key(name))
            || single_value(self.headers, FETCH_MODE) == Some("websocket")
    }

    /// Tells whether the browser says that another site caused a request that may change something, in a mode in which
    /// no script can add `Authorization`.
    ///
    /// The password of such a request is one that the browser remembers.
    ///
    /// Requests in mode `cors` are not refused, because their script may have sent a password that it knows. The
    /// browser adds a remembered password to such requests, too. A simple request needs no preflight, so CORS does not
    /// prevent the change: the application must check `Origin`.
    pub fn is_cross_site_change(&self) -> bool {
        let has_no_script = ["navigate", "no-cors", "websocket"]
            .iter()
            .any(|mode| has_value(self.headers, FETCH_MODE, mode));
        self.can_change_state()
            && has_no_script
            && has_value(self.headers, FETCH_SITE, "cross-site")
    }

    /// Returns the path and the query to which a person should return. For a form, these are the path and the query of
    /// the page that the form was on. Returns `None` if they are unknown, or if that page has another origin.
    pub(crate) fn return_path(&self) -> Option<String> {
        if self.can_send_form() {
            return self.path_of_form_page();
        }
        let path = self.path?;
        path.starts_with('/').then(|| path.to_owned())
    }

    fn path_of_form_page(&self) -> Option<String> {
        let page = Url::parse(single_value(self.headers, REFERER)?).ok()?;
        let own = Origin::new(page.scheme(), self.host?)?;
        if own.url().origin() != page.origin() {
            return None;
        }
        Some(page[Position::BeforePath..Position::AfterQuery].to_owned())
    }

    /// Tells whether a person waits for a page and can be redirected to the sign-in page.
    ///
    /// A proxy that does not send the method was configured before there was a sign-in page. If that proxy is nginx, it
    /// would answer 500 to people who were redirected.
    pub fn can_be_redirected(&self) -> bool {
        self.method.is_some() && self.is_navigation()
    }

    /// Tells whether the browser says that a person waits for a page.
    ///
    /// With such a request, a browser keeps sending a remembered password, even an outdated one, and opens no dialog to
    /// correct it. So if the password is refused, the cookie decides who the person is.
    pub fn is_declared_navigation(&self) -> bool {
        self.method.is_some() && fetch_mode(self.headers) == Some("navigate")
    }

    /// Tells whether a person waits for a page. Browsers without Fetch Metadata say so by accepting HTML.
    fn is_navigation(&self) -> bool {
        if let Some(mode) = fetch_mode(self.headers) {
            return mode == "navigate";
        }
        single_value(self.headers, ACCEPT).is_some_and(|types| types.contains("text/html"))
    }

    /// Returns the origin of the page that made the request, from the header `Origin`.
    pub(crate) fn page_origin(&self) -> Option<Origin> {
        let (scheme, host) = single_value(self.headers, ORIGIN)?.split_once("://")?;
        Origin::new(scheme, host)
    }
}

/// Tells whether one of the values of a header is `value`. Envoy joins the values of a repeated header with commas.
fn has_value(headers: &HeaderMap, name: HeaderName, value: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(','))
        .any(|entry| entry.trim() == value)
}

/// Returns the value of `Sec-Fetch-Mode`, or `None` if it is missing or empty, because proxies may send an empty header
/// for a missing one. A repeated header is read as an empty text, which is no known mode.
fn fetch_mode(headers: &HeaderMap) -> Option<&str> {
    let mut modes = headers.get_all(FETCH_MODE).iter();
    if modes.all(HeaderValue::is_empty) {
        return None;
    }
    Some(single_value(headers, FETCH_MODE).unwrap_or_default())
}

/// Tells whether a script or an element of a page made the request, and not a person.
pub(crate) fn is_subresource_request(headers: &HeaderMap) -> bool {
    fetch_mode(headers).is_some_and(|mode| mode != "navigate")
}

/// Tells whether the page would be shown inside another one, where people must not type passwords.
pub fn is_frame_request(headers: &HeaderMap) -> bool {
    matches!(
        single_value(headers, FETCH_DEST),
        Some("iframe" | "frame" | "embed" | "object" | "fencedframe")
    )
}

/// Tells whether the browser says that a person opens this address as a page of its own, not in a frame.
pub fn asks_for_document(headers: &HeaderMap) -> bool {
    single_value(headers, FETCH_MODE) == Some("navigate")
        && single_value(headers, FETCH_DEST) == Some("document")
}

/// Tells whether the browser says in `Sec-Fetch-Site` that a page of the same origin made the request.
pub fn is_declared_same_origin(headers: &HeaderMap) -> bool {
    single_value(headers, FETCH_SITE) == Some("same-origin")
}

/// Tells whether the browser says that a page of this origin made the request. Browsers without Fetch Metadata say so
/// in `Origin`.
pub fn is_same_origin(headers: &HeaderMap, own: Option<&Origin>) -> bool {
    if headers.contains_key(FETCH_SITE) {
        return is_declared_same_origin(headers);
    }
    let (Some(origin), Some(own)) = (single_value(headers, ORIGIN), own) else {
        return false;
    };
    origin == own.serialized()
}

#[cfg(test)]
mod tests;
