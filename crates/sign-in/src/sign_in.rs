//! How people sign in, as gateway and auth-service have read it from the settings.

mod refused;

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

/// How people sign in.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The page to sign in at: a path of the application's own host, or a URL.
    url: String,
    /// The page with its origin; `None` if `url` is a path.
    page: Option<Url>,
    /// The domain whose hosts share the cookie.
    pub cookie_domain: Option<String>,
    /// Other origins that people go back to.
    pub return_origins: ReturnOrigins,
    /// The title and the help that the pages show.
    pub brand: Brand,
}

/// Why a person has to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectReason {
    /// The request has no valid credential.
    NotAuthenticated,
    /// The browser presented more than one valid session, of which none counts.
    TwoSessions,
}

impl SignIn {
    /// Reads the values of `SIGN_IN_URL`, `COOKIE_DOMAIN` and `RETURN_ORIGINS`. The brand is the default one.
    pub fn new(url: String, cookie_domain: Option<String>, return_origins: ReturnOrigins) -> Self {
        Self {
            page: Url::parse(&url).ok(),
            url,
            cookie_domain,
            return_origins,
            brand: Brand::default(),
        }
    }

    /// The cookie of an application with this origin.
    pub fn cookie(&self, origin: Option<&Origin>) -> Cookie<'_> {
        match &self.cookie_domain {
            Some(domain) if !origin.is_some_and(Origin::is_plain_loopback) => {
                Cookie::for_domain(domain)
            }
            _ => Cookie::for_host(origin),
        }
    }

    /// The design for the browser that sent these headers.
    pub fn design(&self, headers: &HeaderMap) -> Design<'_> {
        Design::new(&self.brand, headers)
    }

    /// The origin of the page to sign in at, or [`OWN_HOST`] if that is on each application's own host.
    pub fn page_origin(&self) -> String {
        match &self.page {
            Some(page) => page.origin().ascii_serialization(),
            None => OWN_HOST.to_owned(),
        }
    }

    /// Tells whether the page to sign in at has this origin, and is not on each application's own host.
    pub fn has_page_at(&self, origin: &Origin) -> bool {
        self.page
            .as_ref()
            .is_some_and(|page| page.origin() == origin.url().origin())
    }

    /// Reads what may be a valid session from the cookies of a request without `Authorization`. Another host of the
    /// domain may have set some of them, so a valid one decides only if no other is valid. Without a valid one, the
    /// request may be redirected to the page.
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

    /// Tells whether a page of the application, or of one of `RETURN_ORIGINS`, made the request.
    fn is_from_allowed_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        if is_declared_same_origin(request.headers) {
            return true;
        }
        let Some(page) = request.page_origin() else {
            return false;
        };
        Some(&page) == own || self.return_origins.contains(&page)
    }

    /// Returns the address where a person without a valid credential signs in. `None` for requests of programs, and for
    /// the page itself, which the proxy should have let through.
    ///
    /// Browsers do not send the fragment of an address, so the result has none. They keep it over redirects by themselves.
    pub fn redirect(&self, request: BrowserRequest<'_>, reason: RedirectReason) -> Option<String> {
        if !request.can_be_redirected() {
            return None;
        }
        let own = request.origin();
        if self.is_page(request, own.as_ref()) {
            return None;
        }
        let mut parameters = self.return_parameters(request, own.as_ref());
        // A form that was sent too late is lost, which the page says.
        if request.can_send_form() {
            parameters.push(UNSAVED.to_owned());
        }
        if reason == RedirectReason::TwoSessions {
            parameters.push(TWO_SESSIONS.to_owned());
        }
        let separator = if parameters.is_empty() { "" } else { "?" };
        Some([&self.url, separator, &parameters.join("&")].concat())
    }

    /// Tells whether the request is for the page itself, to which a redirect would lead in a circle.
    fn is_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        let path = request.path.and_then(|path| path.split('?').next());
        match &self.page {
            None => path == Some(&self.url),
            Some(page) => path == Some(page.path()) && own.is_some_and(|own| self.has_page_at(own)),
        }
    }

    /// The parameters of the page that say where the person comes back to: nowhere if the proxy did not say the
    /// origin, and to the root of the application if the address is too long.
    fn return_parameters(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> Vec<String> {
        let origin = match (&self.page, own) {
            // A page at the own host needs the path only.
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

    /// Tells whether a refusal may ask for a password by HTTP Basic, for which a browser opens a dialog of its own. The
    /// dialog must not interrupt a page, nor open where there is a page to sign in at. A proxy that does not say the
    /// method was configured before there was a page, so people may sign in by the dialog there.
    ///
    /// `has_authorization`: a program, or a script of a page, sent credentials itself.
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
