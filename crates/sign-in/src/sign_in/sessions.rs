//! Finds the only valid session in the cookies of a request.

use super::{RedirectReason, SignIn};
use crate::{cookie::CookieError, request::BrowserRequest};
use secrecy::SecretString;

/// The reason why no session in the cookies of a request counts.
#[derive(Debug)]
pub enum SessionRefusal<E> {
    /// Another site may have caused the request, which may change something.
    CrossSite,
    /// No session is valid. Or two are, and neither counts, because another host may have set either of the cookies.
    SignInRequired {
        /// The address to which a person is redirected to sign in, as from [`SignIn::redirect`].
        page: Option<String>,
        /// The error of a session that is not valid. `None` if there is no such session, or if two sessions are valid.
        error: Option<E>,
    },
    /// An error, such as an outage, leaves open whether a session is valid.
    Unchecked(E),
}

impl SignIn {
    /// Checks all candidates for a session in the cookies, because a valid one counts only if no other is valid.
    /// Returns what `check` returned for it.
    ///
    /// `check` asks auth-service about a candidate. `is_invalid` tells whether its error means that the candidate is no
    /// valid session. Any other error is returned at once.
    pub async fn check_sessions<T, E, F>(
        &self,
        request: BrowserRequest<'_>,
        check: impl Fn(SecretString) -> F,
        is_invalid: impl Fn(&E) -> bool,
    ) -> Result<T, SessionRefusal<E>>
    where
        F: Future<Output = Result<T, E>>,
    {
        let mut reason = RedirectReason::NotAuthenticated;
        let sessions = match self.session_candidates(request) {
            Ok(sessions) => sessions,
            Err(CookieError::TooMany) => {
                reason = RedirectReason::TwoSessions;
                Vec::new()
            }
            Err(CookieError::CrossSite) => return Err(SessionRefusal::CrossSite),
        };
        let mut valid = None;
        let mut error = None;
        for session in sessions {
            match check(session).await {
                Ok(_) if valid.is_some() => reason = RedirectReason::TwoSessions,
                Ok(checked) => valid = Some(checked),
                Err(invalid) if is_invalid(&invalid) => error = Some(invalid),
                Err(error) => return Err(SessionRefusal::Unchecked(error)),
            }
        }
        if reason == RedirectReason::TwoSessions {
            error = None;
        } else if let Some(checked) = valid {
            return Ok(checked);
        }
        let page = self.redirect(request, reason);
        Err(SessionRefusal::SignInRequired { page, error })
    }
}
