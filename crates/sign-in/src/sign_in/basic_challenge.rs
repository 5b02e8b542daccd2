//! Where a refusal asks for a password by HTTP Basic.

use super::SignIn;
use crate::{
    cookie::CookieError,
    request::{BrowserRequest, is_subresource_request},
};

impl SignIn {
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
