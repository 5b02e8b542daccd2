//! Decides, according to the settings, how a request of a browser is answered: by its session, or by a redirect to the
//! sign-in page.

mod refused;
mod sessions;

pub use sessions::SessionRefusal;

use crate::{
    brand::Brand,
    cookie::{Cookie, CookieError, MAX_CANDIDATES},
    design::{Design, OWN_HOST},
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN, TOO_LONG, TWO_SESSIONS, UNSAVED},
    request::{BrowserRequest, is_declared_same_origin, is_subresource_request},
    return_origins::ReturnOrigins,
};
use http::HeaderMap;
use secrecy::SecretString;
use url::{Url, form_urlencoded::byte_serialize};

/// The settings of signing in, as the gateway and auth-service use them.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The sign-in page: a path on each application's own host, or a URL.
    url: String,
    /// The parsed URL of the sign-in page. `None` if `url` is a path.
    page: Option<Url>,
    /// The domain whose hosts share the cookie. `None` if each host has a cookie of its own.
    pub cookie_domain: Option<String>,
    /// The other origins that people may come from and go back to.
    pub return_origins: ReturnOrigins,
    /// The title and the help text that the pages show.
    pub brand: Brand,
}

/// The reason why a person has to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectReason {
    /// The request has no valid credential.
    NotAuthenticated,
    /// The browser presented more than one valid session, so no session counts.
    TwoSessions,
}

impl SignIn {
    /// Creates the settings from the values of `SIGN_IN_URL`, `COOKIE_DOMAIN` and `RETURN_ORIGINS`, with the default
    /// brand.
    pub fn new(url: String, cookie_domain: Option<String>, return_origins: ReturnOrigins) -> Self {
        Self {
            page: Url::parse(&url).ok(),
            url,
            cookie_domain,
            return_origins,
            brand: Brand::default(),
        }
    }

    /// Returns the cookie of an application at this origin.
    pub fn cookie(&self, origin: Option<&Origin>) -> Cookie<'_> {
        match &self.cookie_domain {
            Some(domain) if !origin.is_some_and(Origin::is_plain_loopback) => {
                Cookie::for_domain(domain)
            }
            _ => Cookie::for_host(origin),
        }
    }

    /// Returns the design for the browser that sent these headers.
    pub fn design(&self, headers: &HeaderMap) -> Design<'_> {
        Design::new(&self.brand, headers)
    }

    /// Returns the origin of the sign-in page, or [`OWN_HOST`] if each application's own host has one.
    pub fn page_origin(&self) -> String {
        match &self.page {
            Some(page) => page.origin().ascii_serialization(),
            None => OWN_HOST.to_owned(),
        }
    }

    /// Tells whether the sign-in page is at this origin. Returns false if each application's host has a sign-in page of
    /// its own.
    pub fn has_page_at(&self, origin: &Origin) -> bool {
        self.page
            .as_ref()
            .is_some_and(|page| page.origin() == origin.url().origin())
    }

    /// Returns the candidates for a session in the cookies of a request without `Authorization`. Fails if there are too
    /// many, or if another site may have caused a change.
    ///
    /// Another host of the domain may have set some of the cookies, so [`Self::check_sessions`] checks all candidates.
    pub fn session_candidates(
        &self,
        request: BrowserRequest<'_>,
    ) -> Result<Vec<SecretString>, CookieError> {
        let own = request.origin();
        let candidates = self.cookie(own.as_ref()).candidates(request.headers);
        if candidates.len() > MAX_CANDIDATES {
            return Err(CookieError::TooMany);
        }
        if !candidates.is_empty()
            && request.can_change_state()
            && !self.is_from_allowed_page(request, own.as_ref())
        {
            return Err(CookieError::CrossSite);
        }
        Ok(candidates)
    }

    /// Tells whether a page of the application or of one of `RETURN_ORIGINS` made the request.
    fn is_from_allowed_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        if is_declared_same_origin(request.headers) {
            return true;
        }
        request
            .page_origin()
            .is_some_and(|page| Some(&page) == own || self.return_origins.contains(&page))
    }

    /// Returns the address to which a person without a valid credential is redirected to sign in.
    ///
    /// Returns `None` for requests of programs, and for the sign-in page itself, which the proxy should have let
    /// through.
    ///
    /// The result has no fragment, because browsers do not send it. They keep the fragment across redirects by
    /// themselves.
    pub fn redirect(&self, request: BrowserRequest<'_>, reason: RedirectReason) -> Option<String> {
        if !request.can_be_redirected() {
            return None;
        }
        let own = request.origin();
        if self.is_page(request, own.as_ref()) {
            return None;
        }
        let mut parameters = self.return_parameters(request, own.as_ref());
        // A form that was sent after the session had ended is lost, and the page says so.
        if request.can_send_form() {
            parameters.push(UNSAVED.to_owned());
        }
        if reason == RedirectReason::TwoSessions {
            parameters.push(TWO_SESSIONS.to_owned());
        }
        let separator = if parameters.is_empty() { "" } else { "?" };
        Some([&self.url, separator, &parameters.join("&")].concat())
    }

    /// Tells whether the request is for the sign-in page itself, where a redirect would lead in a circle.
    fn is_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        let path = request.path.and_then(|path| path.split('?').next());
        match &self.page {
            None => path == Some(&self.url),
            Some(page) => path == Some(page.path()) && own.is_some_and(|own| self.has_page_at(own)),
        }
    }

    /// Returns the query parameters with the address to which the person returns.
    ///
    /// There are none if the page is at a host of its own and the proxy did not send the origin of the request. If the
    /// address is too long, the person returns to the root of the application.
    fn return_parameters(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> Vec<String> {
        let origin = match (&self.page, own) {
            // A sign-in page on the application's own host needs only the path.
            (None, _) => String::new(),
            (Some(_), Some(own)) => own.serialized(),
            (Some(_), None) => return Vec::new(),
        };
        let encode =
            |path: &str| -> String { byte_serialize((origin.clone() + path).as_bytes()).collect() };
        let path = request.return_path();
        let address = encode(path.as_deref().unwrap_or("/"));
        if address.len() <= MAX_RETURN_ADDRESS_LEN {
            return vec![format!("{RETURN}={address}")];
        }
        vec![format!("{RETURN}={}", encode("/")), TOO_LONG.to_owned()]
    }

    /// Tells whether a 401 may ask for a password by HTTP Basic, for which a browser opens a dialog of its own. The
    /// dialog must not interrupt a page, nor open where people are redirected to the sign-in page.
    ///
    /// A proxy that does not send the method was configured before there was a sign-in page, so people may sign in with
    /// the dialog there. `has_authorization` is true if a program, or a script of a page, sent credentials itself.
    /// Returns `false`, too, if the session cookie occurs twice.
    pub fn allows_basic_challenge(
        &self,
        request: BrowserRequest<'_>,
        has_authorization: bool,
    ) -> bool {
        if request.can_be_redirected() {
            return false;
        }
        if is_subresource_request(request.headers) && !has_authorization {
            return false;
        }
        let cookie = self.cookie(request.origin().as_ref());
        !matches!(cookie.find(request.headers), Err(CookieError::TooMany))
    }
}

#[cfg(test)]
mod tests;
