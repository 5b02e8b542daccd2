//! Authenticates browsers by the session in a cookie, and redirects people to the sign-in page.

use super::{
    RouteRequest,
    request::RequestAttributes,
    response::{Refusal, is_unauthenticated},
};
use crate::{
    accounts::{AuthenticatedUser, TokenSource},
    grpc::AuthGrpc,
    user::User,
};
use rolegate_proto::Reason;
use rolegate_sign_in::interstitial::Interstitial;
use secrecy::{ExposeSecret as _, SecretString};

impl AuthGrpc {
    /// Returns whether people can sign in here and the request's headers say that a browser opens a page.
    pub(super) fn is_page_of_person(&self, attributes: RequestAttributes<'_>) -> bool {
        self.sign_in.is_some()
            && attributes
                .browser_parts()
                .is_some_and(|parts| parts.request().is_declared_navigation())
    }

    /// Authenticates the user by the session in the cookies, without reading the `Authorization` header. If two
    /// sessions are valid, neither counts. Unless exactly one session is valid, a browser that can be
    /// redirected gets a redirect to the sign-in page instead of an error. An outage stays an error.
    pub(super) async fn user_in_cookie(
        &self,
        route: RouteRequest<'_>,
    ) -> Result<AuthenticatedUser, Refusal> {
        let Some(sign_in) = &self.sign_in else {
            return Err(Refusal::NotAuthenticated);
        };
        let browser_parts = route
            .attributes
            .browser_parts()
            .ok_or(Refusal::NotAuthenticated)?;
        let check = async |session: SecretString| {
            self.authenticate(route, TokenSource::Cookie, session.expose_secret())
                .await
        };
        let request = browser_parts.request();
        let user = sign_in.check_sessions(request, check, is_unauthenticated);
        Ok(user.await?)
    }

    /// Returns the page that tells a person why the signed-in user may not open this address. Returns `None` if
    /// there is no sign-in page, if the request has an `Authorization` header, or if it does not come from a
    /// browser that can be redirected.
    pub(super) fn interstitial(
        &self,
        attributes: RequestAttributes<'_>,
        user: &User,
        reason: Reason,
    ) -> Option<Interstitial> {
        let sign_in = self.sign_in.as_ref()?;
        let browser_parts = attributes.browser_parts()?;
        if !browser_parts.request().can_be_redirected() || attributes.has_authorization() {
            return None;
        }
        Some(sign_in.refused(browser_parts.request(), Some(&user.username), reason))
    }

    /// Returns whether a refusal may request a password by HTTP Basic, which makes a browser open a dialog.
    pub(super) fn allows_basic_challenge(&self, attributes: RequestAttributes<'_>) -> bool {
        if attributes.is_cookie_only().unwrap_or(false) {
            return false;
        }
        let Some(sign_in) = &self.sign_in else {
            return true;
        };
        attributes.browser_parts().is_none_or(|parts| {
            sign_in.allows_basic_challenge(parts.request(), attributes.has_authorization())
        })
    }
}
