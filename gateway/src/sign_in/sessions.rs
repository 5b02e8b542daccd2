//! The sessions that a browser has in its cookies.

use super::{cookies::Audience, state::SignInState};
use rolegate_auth_client::{CallContext, CallError, Requirement, User};
use rolegate_sign_in::cookie::MAX_CANDIDATES;
use secrecy::SecretString;

/// What becomes of the other session of a sign-in that made two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PairedSession {
    Ends,
    Stays,
}

impl SignInState {
    /// Finds the user of the only valid one of these sessions. Returns `None` if none is valid, and also if several are
    /// valid or one cannot be checked, so that nobody goes on as somebody else.
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

    /// Ends sessions from cookies.
    pub(super) async fn end_sessions(
        &self,
        sessions: &[SecretString],
        paired: PairedSession,
        context: CallContext,
    ) -> Result<(), CallError> {
        let with_pairs = paired == PairedSession::Ends;
        self.gateway
            .auth
            .end_cookie_sessions(sessions, with_pairs, context)
            .await
    }

    /// Ends sessions after a sign-in, which has succeeded whether or not they can be ended: a failure is only logged.
    pub(super) async fn end_sessions_or_log(
        &self,
        sessions: &[SecretString],
        paired: PairedSession,
        context: CallContext,
    ) {
        if let Err(error) = self.end_sessions(sessions, paired, context).await {
            tracing::warn!(%error, "cannot end the sessions that a browser had before");
        }
    }
}

/// Tells whether a token was refused because it is not, or no longer, that of a session.
fn is_invalid_session(error: &CallError) -> bool {
    error
        .reason()
        .is_some_and(|reason| reason.http_status() == 401)
}
