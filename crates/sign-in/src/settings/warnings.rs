//! Warns about settings that lead people to a missing page, redirect them in a circle, or keep them from returning.

use super::{PAGE, SignInSettings};
use crate::{domain::is_in_domain, return_origins::ReturnOrigin};
use url::Url;

impl SignInSettings {
    /// Returns warnings about settings that contradict each other. They are not errors, because another program may
    /// serve what is missing.
    pub fn warnings(&self) -> Vec<String> {
        let page = Url::parse(&self.sign_in_url).ok();
        let page = page.as_ref();
        if !self.sign_in {
            return page.map(removed_page).into_iter().collect();
        }
        let circles = self
            .return_origins
            .entries
            .iter()
            .filter(|origin| !self.shares_cookie(origin, page))
            .map(circle);
        self.missing_page(page)
            .into_iter()
            .chain(circles)
            .chain(self.no_way_back(page))
            .collect()
    }

    /// Returns a warning if `SIGN_IN_URL` names a path at which Rolegate has no page.
    fn missing_page(&self, page: Option<&Url>) -> Option<String> {
        let path = page.map_or(&*self.sign_in_url, Url::path);
        if path == PAGE {
            return None;
        }
        Some(format!(
            "SIGN_IN_URL: the page is at {PAGE}, so people get to a missing page unless a proxy passes \
             {path} there"
        ))
    }

    /// Returns a warning if `RETURN_ORIGINS` has no host that shares the cookie, apart from the host of the sign-in
    /// page: nobody could return to an application.
    fn no_way_back(&self, page: Option<&Url>) -> Option<String> {
        let domain = self.cookie_domain.as_ref()?;
        let page_host = page.and_then(Url::host_str);
        let is_page =
            |origin: &ReturnOrigin| !origin.is_wildcard && Some(origin.host()) == page_host;
        let mut origins = self.return_origins.entries.iter();
        if origins.any(|origin| self.shares_cookie(origin, page) && !is_page(origin)) {
            return None;
        }
        let port = match page.and_then(Url::port) {
            Some(port) => format!(":{port}"),
            None => String::new(),
        };
        Some(format!(
            "RETURN_ORIGINS: has no host of COOKIE_DOMAIN, so people who sign in are not redirected back to \
             applications there; name them, such as https://*.{domain}{port}"
        ))
    }

    /// Tells whether an application at this origin gets the cookie that the sign-in page sets. Ports do not matter to
    /// cookies.
    fn shares_cookie(&self, application: &ReturnOrigin, page: Option<&Url>) -> bool {
        let host = application.host();
        let is_wildcard = application.is_wildcard;
        if let Some(domain) = &self.cookie_domain {
            return is_in_domain(host, domain) || (is_wildcard && is_in_domain(domain, host));
        }
        match page.and_then(Url::host_str) {
            Some(page_host) => host == page_host && !is_wildcard,
            None => true,
        }
    }
}

fn removed_page(page: &Url) -> String {
    format!(
        "SIGN_IN_URL: password links lead to {}, but SIGN_IN=off removes that page",
        page.origin().ascii_serialization()
    )
}

fn circle(application: &ReturnOrigin) -> String {
    format!(
        "RETURN_ORIGINS: users of an application at {}{} have to sign in at SIGN_IN_URL again and again, \
         because its cookie does not reach that host; set COOKIE_DOMAIN to a domain of both, or let people sign in at \
         {PAGE} of that host",
        if application.is_wildcard { "*." } else { "" },
        application.host()
    )
}
