//! How people sign in, as gateway and auth-service have read it from the settings.

mod basic_challenge;
mod redirect;
mod refused;
mod session_candidates;

use crate::{
    brand::Brand, cookie::Cookie, design::Design, origin::Origin, return_origins::ReturnOrigins,
};
use http::HeaderMap;
use url::Url;

pub use redirect::RedirectReason;

/// How people sign in.
#[derive(Clone, Debug)]
pub struct SignIn {
    /// The page to sign in at: a path of the application's own host, or a URL.
    url: String,
    /// The same if it is a URL.
    pub page: Option<Url>,
    /// The domain whose hosts share the cookie.
    pub cookie_domain: Option<String>,
    /// Other origins that people go back to.
    pub return_origins: ReturnOrigins,
    /// What the pages show.
    pub brand: Brand,
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

    /// The origin of the page to sign in at; empty if that is on each application's own host.
    pub fn page_origin(&self) -> String {
        match &self.page {
            Some(page) => page.origin().ascii_serialization(),
            None => String::new(),
        }
    }
}

#[cfg(test)]
mod tests;
