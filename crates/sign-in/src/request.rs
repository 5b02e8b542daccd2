//! A request to an application, of which a proxy asks whether it may pass.
//!
//! A cookie comes with requests that other sites cause, so it alone is good for reading only: a change must
//! come from a page of the application, which the browser says in `Sec-Fetch-Site` (Fetch Metadata) or
//! `Origin`.

use crate::{
    cookie::{CookieError, MAX_SESSIONS},
    origin::{Origin, forwarded_scheme, only},
    settings::SignIn,
};
use http::{
    HeaderMap, HeaderName,
    header::{ACCEPT, ORIGIN, REFERER, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE},
};
use secrecy::SecretString;
use url::{Position, Url, form_urlencoded::byte_serialize};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Bytes of a return address; proxies limit the headers of an answer to 4 KiB.
pub const MAX_RETURN: usize = 2048;

/// The parameter of the page for people whose form was sent after their session had ended.
pub const UNSAVED: &str = "unsaved";

/// The parameter of the page for people whose address is too long to return to.
pub const TOO_LONG: &str = "too_long";

/// The parameter of the page for people whose browser has two good sessions for one address.
pub const TWO_SESSIONS: &str = "two_sessions";

/// The header by which a browser forgets what it has kept of the pages of a host, also those that *back* shows.
pub const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// Its value.
pub const CACHE: &str = "\"cache\"";

/// The headers of browsers that decisions and their pages read, in lower case, separated by blanks.
pub const HEADERS: &str = "cookie origin sec-fetch-site sec-fetch-mode accept accept-language upgrade \
                           sec-websocket-key sec-websocket-version referer";

/// What a browser asked an application for.
#[derive(Clone, Copy, Debug)]
pub struct BrowserRequest<'a> {
    /// The method; `None` if the proxy did not say it.
    pub method: Option<&'a str>,
    /// `http` or `https`; `None` if the proxy did not say it, or said both.
    pub scheme: Option<&'a str>,
    /// The `Host`; `None` if the proxy did not say it.
    pub host: Option<&'a str>,
    /// The path with the query; `None` if the proxy did not say it.
    pub path: Option<&'a str>,
    /// Its headers.
    pub headers: &'a HeaderMap,
}

impl<'a> BrowserRequest<'a> {
    /// As proxies describe it in headers of the request for a decision.
    pub fn forwarded(headers: &'a HeaderMap) -> Self {
        let forwarded = |name| only(headers, HeaderName::from_static(name));
        Self {
            method: forwarded("x-forwarded-method"),
            // Several that disagree are as none: no origin, so no cookie of plain HTTP counts.
            scheme: forwarded_scheme(headers).ok().flatten(),
            host: forwarded("x-forwarded-host"),
            path: forwarded("x-forwarded-uri"),
            headers,
        }
    }

    fn origin(&self) -> Option<Origin> {
        Origin::new(self.scheme?, self.host?)
    }

    /// Whether it may change something. A WebSocket begins with GET, and may then do anything.
    fn may_change(&self) -> bool {
        self.may_send_form()
            || [UPGRADE, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION]
                .iter()
                .any(|name| self.headers.contains_key(name))
            || only(self.headers, FETCH_MODE) == Some("websocket")
    }

    /// Whether the browser says that another site caused what may be a change, in a mode in which no script can add
    /// `Authorization`. The password of such a request is one that the browser remembers.
    ///
    /// Mode `cors` is not refused, because a script may have sent a password that it knows. The browser adds one that
    /// it remembers to such requests, too, and a simple one needs no preflight, so CORS does not prevent the change:
    /// the application must check `Origin`.
    pub fn is_cross_site_change(&self) -> bool {
        let is_unasked = ["navigate", "no-cors", "websocket"]
            .iter()
            .any(|mode| says(self.headers, FETCH_MODE, mode));
        self.may_change() && is_unasked && says(self.headers, FETCH_SITE, "cross-site")
    }

    /// Whether the method may send a form. A browser that repeats the address by GET would not send the form again.
    fn may_send_form(&self) -> bool {
        !matches!(self.method, Some("GET" | "HEAD"))
    }

    /// The path with the query that a person should come back to: of a form, those of the page that it was on.
    fn return_path(&self) -> Option<String> {
        if !self.may_send_form() {
            let path = self.path.filter(|path| path.starts_with('/'));
            return path.map(str::to_owned);
        }
        let page = Url::parse(only(self.headers, REFERER)?).ok()?;
        let own = Origin::new(page.scheme(), self.host?)?;
        let is_own = own.url().origin() == page.origin();
        is_own.then(|| page[Position::BeforePath..Position::AfterQuery].to_owned())
    }

    /// Whether a person waits for a page, and can be led to the one to sign in at.
    pub fn leads_to_page(&self) -> bool {
        self.method.is_some() && self.is_navigation()
    }

    /// Whether the browser of a person says that it asks for a page. It goes on sending a password that it remembers, also
    /// an outdated one, and gets no dialog here to correct it: who the person is, the cookie says then.
    pub fn is_by_person(&self) -> bool {
        self.method.is_some() && fetch_mode(self.headers) == Some("navigate")
    }

    /// Whether a person waits for a page.
    fn is_navigation(&self) -> bool {
        match fetch_mode(self.headers) {
            Some(mode) => mode == "navigate",
            None => only(self.headers, ACCEPT).is_some_and(|types| types.contains("text/html")),
        }
    }
}

/// Whether one of the values of a header is this one. Envoy joins the values of a header that is repeated.
fn says(headers: &HeaderMap, name: HeaderName, value: &str) -> bool {
    let values = headers.get_all(name).iter();
    values
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','))
        .any(|it| it.trim() == value)
}

/// Whether a script or an element of a page made the request, rather than a person.
fn is_by_page(headers: &HeaderMap) -> bool {
    fetch_mode(headers).is_some_and(|mode| mode != "navigate")
}

/// `Sec-Fetch-Mode`, of which several are none that is known. Proxies may send an empty one for none.
fn fetch_mode(headers: &HeaderMap) -> Option<&str> {
    let is_said = headers
        .get_all(FETCH_MODE)
        .iter()
        .any(|mode| !mode.is_empty());
    is_said.then(|| only(headers, FETCH_MODE).unwrap_or_default())
}

/// Whether the browser says that a person goes to this address, to see a page in a tab of their own.
pub fn asks_for_document(headers: &HeaderMap) -> bool {
    only(headers, FETCH_MODE) == Some("navigate") && only(headers, FETCH_DEST) == Some("document")
}

/// Whether the browser says that a page of this origin made the request.
pub fn is_same_origin(headers: &HeaderMap, own: Option<&Origin>) -> bool {
    if headers.contains_key(FETCH_SITE) {
        return only(headers, FETCH_SITE) == Some("same-origin");
    }
    let origin = only(headers, ORIGIN);
    origin.is_some() && origin == own.map(Origin::serialized).as_deref()
}

impl SignIn {
    /// What may be a session, good or not, in the cookies of a request without `Authorization`. Another host of the
    /// domain may have set some of them, so one decides only if no other is good. Without a good one, the request may be
    /// led to the page.
    pub fn sessions(&self, request: BrowserRequest<'_>) -> Result<Vec<SecretString>, CookieError> {
        let own = request.origin();
        let sessions = self.cookie(own.as_ref()).find_different(request.headers);
        if sessions.len() > MAX_SESSIONS {
            return Err(CookieError::TooMany);
        }
        if !sessions.is_empty() && request.may_change() && !self.is_from_page(request, own.as_ref())
        {
            return Err(CookieError::CrossSite);
        }
        Ok(sessions)
    }

    /// Whether a refusal may ask for a password by HTTP Basic, for which a browser opens a dialog of its own. The dialog
    /// must not interrupt a page, nor open where there is a page to sign in at. A proxy that does not say the method
    /// was configured before there was a page, so people may sign in by the dialog there.
    ///
    /// `has_authorization`: a program, or a script of a page, sent credentials itself.
    pub fn allows_basic_challenge(
        &self,
        request: BrowserRequest<'_>,
        has_authorization: bool,
    ) -> bool {
        if request.leads_to_page() {
            return false;
        }
        if is_by_page(request.headers) && !has_authorization {
            return false;
        }
        let cookie = self.cookie(request.origin().as_ref());
        !matches!(cookie.find(request.headers), Err(CookieError::TooMany))
    }

    /// Whether a page of the application, or of one of `RETURN_ORIGINS`, made the request.
    fn is_from_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        if only(request.headers, FETCH_SITE) == Some("same-origin") {
            return true;
        }
        let origin = only(request.headers, ORIGIN).and_then(|it| it.split_once("://"));
        let origin = origin.and_then(|(scheme, host)| Origin::new(scheme, host));
        origin.is_some_and(|origin| Some(&origin) == own || self.return_origins.contains(&origin))
    }

    /// Where a person signs in who has no good credential; `None` for requests of programs, and for the page
    /// itself, which the proxy should have passed. A proxy that does not say the method was configured before
    /// there was a page: nginx would answer 500 to its visitors if they were led there.
    ///
    /// `has_two_sessions`: the browser presented more than one good session.
    pub fn redirect(&self, request: BrowserRequest<'_>, has_two_sessions: bool) -> Option<String> {
        if !request.leads_to_page() {
            return None;
        }
        let asked = request.path.and_then(|path| path.split('?').next());
        let own = request.origin();
        let is_page = match &self.page {
            None => asked == Some(&self.url),
            Some(page) => {
                let own = own.as_ref().map(|own| own.url().origin());
                asked == Some(page.path()) && own == Some(page.origin())
            }
        };
        if is_page {
            return None;
        }
        // A page at the own host needs the path only.
        let origin = match self.page {
            None => Some(String::new()),
            Some(_) => own.map(|own| own.serialized()),
        };
        let mut parameters = Vec::new();
        if let Some(origin) = origin {
            let path = request.return_path();
            let encode = |path: &str| -> String {
                byte_serialize((origin.clone() + path).as_bytes()).collect()
            };
            let address = encode(path.as_deref().unwrap_or("/"));
            if address.len() <= MAX_RETURN {
                parameters.push(format!("return={address}"));
            } else {
                parameters.push(format!("return={}", encode("/")));
                parameters.push(TOO_LONG.to_owned());
            }
        }
        if request.may_send_form() {
            parameters.push(UNSAVED.to_owned());
        }
        if has_two_sessions {
            parameters.push(TWO_SESSIONS.to_owned());
        }
        let separator = if parameters.is_empty() { "" } else { "?" };
        Some([&self.url, separator, &parameters.join("&")].concat())
    }
}

#[cfg(test)]
mod tests;
