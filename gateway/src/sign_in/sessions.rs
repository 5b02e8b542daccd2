//! Finds the user of the sessions that a browser has in its cookies, and ends these sessions.

use super::{cookies::Audience, state::SignInState};
use rolegate_auth_client::{CallContext, CallError, Requirement, User};
use rolegate_sign_in::cookie::MAX_CANDIDATES;
use secrecy::SecretString;

/// Says whether the session that the same sign-in created for the other cookie ends as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PairedSession {
    Ends,
    Stays,
}

impl SignInState {
    /// Returns the user of the only valid session among the first [`MAX_CANDIDATES`] of `sessions`. Returns `None` if
    /// no session is valid, and also if several are valid or one cannot be checked, so that nobody continues as another
    /// user.
    pub(super) async fn find_user(
        &self,
        audience: Audience,
        sessions: &[SecretString],
        context: CallContext,
    ) -> Option<User> {
        let auth = &self.gateway.auth;
        let any = Requirement::AnyAuthenticated;
        let mut found = None;
        for session in sessions.iter().take(MAX_CANDIDATES) {
            let user = match audience {
                Audience::Console => auth.authorize(session, any, context).await,
                Audience::Applications => auth.authorize_cookie(session, any, context).await,
            };
            match user {
                Ok(user) if found.is_none() => found = Some(user),
                Err(error) if is_invalid_session(&error) => {}
                _ => return None,
            }
        }
        found
    }

    /// Ends the sessions that a browser had in its cookies before a sign-in, and with [`PairedSession::Ends`] also those
    /// that the same sign-ins created. The sign-in has succeeded even if the sessions cannot be ended, so a failure is
    /// only logged.
    pub(super) async fn end_sessions_or_log(
        &self,
        sessions: &[SecretString],
        paired: PairedSession,
        context: CallContext,
    ) {
        let with_pairs = paired == PairedSession::Ends;
        let auth = &self.gateway.auth;
        let ended = auth.end_cookie_sessions(sessions, with_pairs, context);
        if let Err(error) = ended.await {
            tracing::warn!(%error, "cannot end the sessions that a browser had before");
        }
    }
}

/// Tells whether auth-service refused the token because it belongs to no valid session.
pub(crate) fn is_invalid_session(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| reason.http_status() == 401)
}
