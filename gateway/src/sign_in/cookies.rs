//! Which cookies a sign-in sets. The console's may manage users, so the host of an application gets it only where
//! people asked for a page of the console.

use super::{return_address::ReturnAddress, state::SignInState};
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

/// The cookies that a sign-in sets where it happens.
pub(super) struct SignInCookies<'a> {
    /// The audience of the page that the sign-in leads to.
    pub(super) destination: Audience,
    /// The cookie that people need there. It is always set.
    pub(super) destination_cookie: Cookie<'a>,
    /// The audience that people do not need there.
    pub(super) other: Audience,
    /// Its cookie, which is set if `sets_both`.
    pub(super) other_cookie: Cookie<'a>,
    pub(super) sets_both: bool,
    /// The sessions for the cookies that are set.
    pub(super) session_use: SessionUse,
}

impl SignInState {
    /// The cookies for a sign-in by a request with these headers, which leads to `back`.
    pub(super) fn sign_in_cookies<'a>(
        &'a self,
        headers: &HeaderMap,
        own: &Origin,
        back: Option<&ReturnAddress>,
        is_forwarded: bool,
    ) -> SignInCookies<'a> {
        let may_set_console = !headers.contains_key(ROLEGATE_PAGE);
        let console = Cookie::for_console(Some(own));
        let application = self.sign_in.cookie(Some(own));
        if may_set_console && back.is_some_and(ReturnAddress::is_in_console) {
            return SignInCookies {
                destination: Audience::Console,
                destination_cookie: console,
                other: Audience::Applications,
                other_cookie: application,
                sets_both: true,
                session_use: session_use(application, true),
            };
        }
        let page = self.sign_in.page.as_ref();
        let is_page_host = page.is_some_and(|page| page.origin() == own.url().origin());
        let sets_both = may_set_console && (is_page_host || !is_forwarded);
        SignInCookies {
            destination: Audience::Applications,
            destination_cookie: application,
            other: Audience::Console,
            other_cookie: console,
            sets_both,
            session_use: session_use(application, sets_both),
        }
    }
}

fn session_use(application: Cookie<'_>, sets_both: bool) -> SessionUse {
    match (sets_both, application.has_domain()) {
        (true, true) => SessionUse::ApiAndDomain,
        (true, false) => SessionUse::ApiAndApplication,
        (false, true) => SessionUse::Domain,
        (false, false) => SessionUse::Application,
    }
}
