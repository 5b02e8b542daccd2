//! The redirect of people to the page to sign in at.

use super::SignIn;
use crate::{
    origin::Origin,
    page_query::{MAX_RETURN_ADDRESS_LEN, RETURN, TOO_LONG, TWO_SESSIONS, UNSAVED},
    request::BrowserRequest,
};
use url::form_urlencoded::byte_serialize;

/// Why a person has to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectReason {
    /// The request has no valid credential.
    NotAuthenticated,
    /// The browser presented more than one valid session, of which none counts.
    TwoSessions,
}

impl SignIn {
    /// Where a person signs in who has no valid credential; `None` for requests of programs, and for the page
    /// itself, which the proxy should have passed.
    pub fn redirect(&self, request: BrowserRequest<'_>, reason: RedirectReason) -> Option<String> {
        if !request.can_be_redirected() {
            return None;
        }
        let own = request.origin();
        if self.is_page(request, own.as_ref()) {
            return None;
        }
        let mut parameters = self.return_parameters(request, own.as_ref());
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
            Some(page) => {
                let own = own.map(|own| own.url().origin());
                path == Some(page.path()) && own == Some(page.origin())
            }
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
}
