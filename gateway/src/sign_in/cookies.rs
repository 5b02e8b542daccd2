//! Which cookies a sign-in sets. The console's may manage users, so the host of an application gets it only where
//! people asked for a page of the console.

use super::{pages::Pages, return_address::ReturnAddress};
use http::{HeaderMap, HeaderName};
use rolegate_auth_client::SessionUse;
use rolegate_sign_in::{cookie::Cookie, origin::Origin};

/// Set by the shipped configurations of proxies on the hosts of applications, whatever the client sent.
const ROLEGATE_PAGE: HeaderName = HeaderName::from_static("rolegate-page");

/// What the session in a cookie is for.
#[derive(Clone, Copy)]
pub(super) enum Audience {
    /// The API, as the pages of the console and of the account call it.
    Console,
    /// Applications behind a proxy.
    Applications,
}

impl Audience {
    pub(super) fn other(self) -> Self {
        match self {
            Self::Console => Self::Applications,
            Self::Applications => Self::Console,
        }
    }
}

/// The cookies that a sign-in sets where it happens.
pub(super) struct SignInCookies<'a> {
    application: Cookie<'a>,
    console: Cookie<'static>,
    /// The audience of the page that the sign-in leads to. Its cookie is always set.
    pub(super) destination: Audience,
    /// Tells whether the cookie of the other audience is set, too.
    pub(super) sets_both: bool,
}

impl<'a> SignInCookies<'a> {
    /// The cookie that people need where the sign-in leads.
    pub(super) fn destination_cookie(&self) -> Cookie<'a> {
        self.cookie(self.destination)
    }

    /// The cookie that they do not need there.
    pub(super) fn other_cookie(&self) -> Cookie<'a> {
        self.cookie(self.destination.other())
    }

    fn cookie(&self, audience: Audience) -> Cookie<'a> {
        match audience {
            Audience::Console => self.console,
            Audience::Applications => self.application,
        }
    }

    /// The sessions for the cookies that are set.
    pub(super) fn session_use(&self) -> SessionUse {
        match (self.sets_both, self.application.has_domain()) {
            (true, true) => SessionUse::ApiAndDomain,
            (true, false) => SessionUse::ApiAndApplication,
            (false, true) => SessionUse::Domain,
            (false, false) => SessionUse::Application,
        }
    }
}

impl Pages {
    /// The cookies for a sign-in by a request with these headers, which leads to `back`.
    pub(super) fn sign_in_cookies<'a>(
        &'a self,
        headers: &HeaderMap,
        own: &Origin,
        back: Option<&ReturnAddress>,
        is_forwarded: bool,
    ) -> SignInCookies<'a> {
        let may_set_console = !headers.contains_key(ROLEGATE_PAGE);
        let leads_to_console = may_set_console && back.is_some_and(ReturnAddress::is_in_console);
        let page = self.sign_in.page.as_ref();
        let is_page_host = page.is_some_and(|page| page.origin() == own.url().origin());
        SignInCookies {
            application: self.sign_in.cookie(Some(own)),
            console: Cookie::for_console(Some(own)),
            destination: if leads_to_console {
                Audience::Console
            } else {
                Audience::Applications
            },
            sets_both: leads_to_console || (may_set_console && (is_page_host || !is_forwarded)),
        }
    }
}
