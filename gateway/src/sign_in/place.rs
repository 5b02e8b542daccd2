//! Which cookies a sign-in sets. The console's may manage users, so the host of an application gets it only where
//! people asked for a page of the console.

use super::{Pages, ReturnAddress};
use axum::extract::{ConnectInfo, Request};
use http::{HeaderMap, HeaderName};
use rolegate_auth_client::SessionUse;
use rolegate_sign_in::{cookie::Cookie, forwarded::has_passed_proxy, origin::Origin};
use std::net::SocketAddr;

/// Set by the shipped configurations of proxies on the hosts of applications, whatever the client sent.
const ROLEGATE_PAGE: HeaderName = HeaderName::from_static("rolegate-page");

/// What a sign-in sets where it happens.
pub(super) struct Place<'a> {
    application: Cookie<'a>,
    console: Cookie<'static>,
    /// Whether people go to a page that uses the console's cookie.
    pub(super) leads_to_console: bool,
    /// Whether the other cookie is set, too.
    pub(super) sets_both: bool,
}

impl<'a> Place<'a> {
    /// The cookie that people need where the sign-in leads.
    pub(super) fn cookie(&self) -> Cookie<'a> {
        if self.leads_to_console {
            self.console
        } else {
            self.application
        }
    }

    /// The cookie that they do not need there.
    pub(super) fn other_cookie(&self) -> Cookie<'a> {
        if self.leads_to_console {
            self.application
        } else {
            self.console
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
    /// The place of a request, whose sign-in leads to `back`.
    pub(super) fn place<'a>(
        &'a self,
        headers: &HeaderMap,
        own: &Origin,
        back: Option<&ReturnAddress>,
        is_forwarded: bool,
    ) -> Place<'a> {
        let may_set_console = !headers.contains_key(ROLEGATE_PAGE);
        let leads_to_console = may_set_console && back.is_some_and(ReturnAddress::is_of_console);
        let page = self.sign_in.page.as_ref();
        let is_page_host = page.is_some_and(|page| page.origin() == own.url().origin());
        Place {
            application: self.sign_in.cookie(Some(own)),
            console: Cookie::for_console(Some(own)),
            leads_to_console,
            sets_both: leads_to_console || (may_set_console && (is_page_host || !is_forwarded)),
        }
    }

    /// Whether a proxy passed the request on: one of `TRUSTED_PROXIES`, or another, which was configured before the
    /// hosts of applications were marked.
    pub(super) fn is_forwarded(&self, request: &Request) -> bool {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>();
        peer.is_some_and(|peer| self.trusted_proxies.contains(peer.0.ip()))
            || has_passed_proxy(request.headers())
    }
}
