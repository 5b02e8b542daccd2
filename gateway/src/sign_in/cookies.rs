//! Which cookies a sign-in sets. The console's may manage users, so the host of an application gets it only where
//! people asked for a page of the console.

use super::{return_address::ReturnAddress, state::SignInState};
use http::{HeaderMap, HeaderName};
use rolegate_auth_client::SessionUse;
use rolegate_sign_in::{cookie::Cookie, origin::Origin};

/// The header by which the shipped configurations of proxies mark the hosts of applications. They overwrite what the
/// client sent.
const ROLEGATE_PAGE: HeaderName = HeaderName::from_static("rolegate-page");

/// Where the session in a cookie counts.
#[derive(Clone, Copy)]
pub(super) enum Audience {
    /// The API, as the pages of the console and of the account call it.
    Console,
    /// Applications behind a proxy.
    Applications,
}

/// A cookie with a session for one audience.
#[derive(Clone, Copy)]
pub(super) struct SessionCookie<'a> {
    pub(super) audience: Audience,
    pub(super) cookie: Cookie<'a>,
}

/// What a sign-in does with the cookie of each audience.
pub(super) struct SignInCookies<'a> {
    /// The cookie that is needed where the sign-in leads. It is always set.
    pub(super) destination: SessionCookie<'a>,
    /// The cookie of the other audience, which is set only if `sets_both`.
    pub(super) other: SessionCookie<'a>,
    pub(super) sets_both: bool,
    /// The sessions that auth-service makes for the cookies that are set.
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
