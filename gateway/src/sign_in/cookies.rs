//! Chooses the cookies that a sign-in sets.
//!
//! The session in the console's cookie may manage users. So the host of an application gets that cookie only if the
//! person asked for a page of the console.

use super::{return_address::ReturnAddress, state::SignInState};
use http::{HeaderMap, HeaderName};
use rolegate_auth_client::SessionUse;
use rolegate_sign_in::{cookie::Cookie, origin::Origin};

/// The header with which the shipped configurations of proxies mark the hosts of applications. The proxies overwrite it
/// if the client sent it.
const ROLEGATE_PAGE: HeaderName = HeaderName::from_static("rolegate-page");

/// The purpose for which the session in a cookie is accepted.
#[derive(Clone, Copy)]
pub(super) enum Audience {
    /// The session is a token of the API, which the pages of the console and of the account use.
    Console,
    /// The session counts for applications behind a proxy.
    Applications,
}

/// A cookie with a session for one audience.
#[derive(Clone, Copy)]
pub(super) struct SessionCookie<'a> {
    pub(super) audience: Audience,
    pub(super) cookie: Cookie<'a>,
}

/// The cookies that a sign-in can set.
pub(super) struct SignInCookies<'a> {
    /// The cookie that the page after the sign-in needs. It is always set.
    pub(super) destination: SessionCookie<'a>,
    /// The cookie of the other audience, which is set only if `sets_both`.
    pub(super) other: SessionCookie<'a>,
    pub(super) sets_both: bool,
    /// Tells auth-service which sessions to create for the cookies that are set.
    pub(super) session_use: SessionUse,
}

impl SignInState {
    /// Chooses the cookies for a sign-in after which the browser goes to `back`. `is_forwarded` is true if a proxy
    /// passed the request on.
    pub(super) fn sign_in_cookies<'a>(
        &'a self,
        headers: &HeaderMap,
        own: &Origin,
        back: Option<&ReturnAddress>,
        is_forwarded: bool,
    ) -> SignInCookies<'a> {
        let console = SessionCookie {
            audience: Audience::Console,
            cookie: Cookie::for_console(Some(own)),
        };
        let applications = SessionCookie {
            audience: Audience::Applications,
            cookie: self.sign_in.cookie(Some(own)),
        };
        let may_set_console = !headers.contains_key(ROLEGATE_PAGE);
        let leads_to_console = may_set_console && back.is_some_and(ReturnAddress::is_in_console);
        let is_page_host = self.sign_in.has_page_at(own);
        let sets_both = leads_to_console || (may_set_console && (is_page_host || !is_forwarded));
        let session_use = match (sets_both, applications.cookie.has_domain()) {
            (true, true) => SessionUse::ApiAndDomain,
            (true, false) => SessionUse::ApiAndApplication,
            (false, true) => SessionUse::Domain,
            (false, false) => SessionUse::Application,
        };
        let (destination, other) = if leads_to_console {
            (console, applications)
        } else {
            (applications, console)
        };
        SignInCookies {
            destination,
            other,
            sets_both,
            session_use,
        }
    }
}
