//! Which sessions of a browser's request count, before auth-service says which of them is valid.

use super::SignIn;
use crate::{
    cookie::{CookieError, MAX_CANDIDATES},
    origin::Origin,
    request::BrowserRequest,
};
use secrecy::SecretString;

impl SignIn {
    /// Reads what may be a valid session from the cookies of a request without `Authorization`. Another host of the
    /// domain may have set some of them, so a valid one decides only if no other is valid. Without a valid one, the
    /// request may be redirected to the page.
    pub fn session_candidates(
        &self,
        request: BrowserRequest<'_>,
    ) -> Result<Vec<SecretString>, CookieError> {
        let own = request.origin();
        let candidates = self.cookie(own.as_ref()).candidates(request.headers);
        if candidates.len() > MAX_CANDIDATES {
            return Err(CookieError::TooMany);
        }
        if !candidates.is_empty()
            && request.can_change_state()
            && !self.is_from_allowed_page(request, own.as_ref())
        {
            return Err(CookieError::CrossSite);
        }
        Ok(candidates)
    }

    /// Tells whether a page of the application, or of one of `RETURN_ORIGINS`, made the request.
    fn is_from_allowed_page(&self, request: BrowserRequest<'_>, own: Option<&Origin>) -> bool {
        if request.is_declared_same_origin() {
            return true;
        }
        let Some(page) = request.page_origin() else {
            return false;
        };
        Some(&page) == own || self.return_origins.contains(&page)
    }
}
