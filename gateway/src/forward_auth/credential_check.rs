//! Checks `Authorization` and the sessions in a browser's cookies, and redirects a person without a valid session to the
//! sign-in page.

use crate::{
    extract::credentials::{authenticate_header, authorization, cross_site},
    sign_in::{interstitials, sessions::is_invalid_session},
    state::GatewayState,
};
use axum::{
    Extension,
    response::{IntoResponse as _, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{AUTHORIZATION, LOCATION},
};
use rolegate_auth_client::{
    CallContext, CallError, Reason, Requirement, User,
    axum::{ApiError, BearerToken},
};
use rolegate_proto::Authorization;
use rolegate_sign_in::{
    clear_site_data::{CACHE, CLEAR_SITE_DATA},
    request::BrowserRequest,
    sign_in::{SessionRefusal, SignIn},
};
use secrecy::SecretString;

/// The check of the credentials of one request.
pub(super) struct CredentialCheck<'a> {
    pub(super) state: &'a GatewayState,
    pub(super) context: CallContext,
    pub(super) headers: &'a HeaderMap,
    /// True if only the session in the cookie counts.
    pub(super) cookie_only: bool,
    /// The status of a redirect to the sign-in page.
    pub(super) redirect_status: StatusCode,
    pub(super) requirement: Requirement<'a>,
    /// False if the list of roles or groups is malformed.
    pub(super) has_valid_names: bool,
}

/// What a valid session allows.
enum ValidSession {
    /// The session belongs to this user, who meets the requirement.
    Admitted(User),
    /// The user of the session does not meet the requirement.
    Denied {
        error: CallError,
        session: SecretString,
    },
}

impl CredentialCheck<'_> {
    /// Checks `Authorization`, or the session in the cookie if there is no `Authorization` or only the cookie counts.
    /// Returns the user, and refuses one whose stored role does not meet the requirement. With `SIGN_IN=off`, no cookie
    /// counts.
    ///
    /// If a browser's remembered password is refused with 401, the cookie is tried instead, unless a list of names is
    /// malformed.
    pub(super) async fn run(&self) -> Result<User, Response> {
        let Some(sign_in) = &self.state.sign_in else {
            if self.cookie_only {
                return Err(ApiError::not_authenticated().into_response());
            }
            return self.check_authorization().await;
        };
        // The futures of cookies are boxed because they are large. Otherwise every request would reserve their size,
        // even one with `Authorization`, which does not need them.
        if self.cookie_only || !self.headers.contains_key(AUTHORIZATION) {
            return Box::pin(self.check_cookie(sign_in)).await;
        }
        match self.check_authorization().await {
            Err(refusal)
                if refusal.status() == StatusCode::UNAUTHORIZED
                    && self.has_valid_names
                    && is_remembered_password(self.headers) =>
            {
                Box::pin(self.check_cookie_instead(sign_in, refusal)).await
            }
            outcome => outcome,
        }
    }

    async fn check_authorization(&self) -> Result<User, Response> {
        authenticate_header(self.state, self.headers, self.context, self.requirement).await
    }

    /// Checks the cookie after the browser's remembered password was refused. If the cookie is refused as well, returns
    /// the redirect to the sign-in page, if there is one, and otherwise `refusal`, which is about the password.
    async fn check_cookie_instead(
        &self,
        sign_in: &SignIn,
        refusal: Response,
    ) -> Result<User, Response> {
        match self.check_cookie(sign_in).await {
            Err(other) if !other.headers().contains_key(LOCATION) => Err(refusal),
            outcome => outcome,
        }
    }

    /// Returns the user of the only valid session in the cookies. Refuses a user whose stored role does not meet the
    /// requirement.
    ///
    /// A person without a valid session, or with two, is redirected to the sign-in page. If the role does not suffice,
    /// the response has the session in its extensions, for the audit log.
    async fn check_cookie(&self, sign_in: &SignIn) -> Result<User, Response> {
        let request = BrowserRequest::forwarded(self.headers);
        let auth = &self.state.auth;
        let check = async |session: SecretString| {
            let user = auth.authorize_cookie(&session, self.requirement, self.context);
            match user.await {
                Err(error) if error.reason().is_some_and(Reason::is_denial) => {
                    Ok(ValidSession::Denied { error, session })
                }
                outcome => outcome.map(ValidSession::Admitted),
            }
        };
        let checked = sign_in.check_sessions(request, check, is_invalid_session);
        match checked.await {
            Ok(ValidSession::Admitted(user)) => Ok(user),
            Ok(ValidSession::Denied { error, session }) => {
                Err(self.deny(sign_in, request, error, session).await)
            }
            Err(SessionRefusal::CrossSite) => Err(cross_site().into_response()),
            Err(SessionRefusal::SignInRequired { page, error }) => {
                let refusal = error.map_or_else(ApiError::not_authenticated, ApiError::from);
                Err(self.redirect(page, refusal))
            }
            Err(SessionRefusal::Unchecked(error)) => Err(ApiError::from(error).into_response()),
        }
    }

    /// Returns the denial of a user whose role does not suffice, with the session in its extensions. If a browser opens
    /// a page, the body is a page that explains the denial.
    async fn deny(
        &self,
        sign_in: &SignIn,
        request: BrowserRequest<'_>,
        error: CallError,
        session: SecretString,
    ) -> Response {
        let mut denial = ApiError::from(error).into_response();
        if request.can_be_redirected() {
            let any = Requirement::AnyAuthenticated;
            let user = self
                .state
                .auth
                .authorize_cookie(&session, any, self.context);
            let user = user.await.ok();
            denial = interstitials::explain_denial(denial, sign_in, request, user.as_ref());
        }
        (Extension(BearerToken(session)), denial).into_response()
    }

    /// Returns a redirect to `page`, the address of the sign-in page, or `refusal` if `page` is `None`. With the status
    /// 401, the redirect is `refusal` with the header `Location`.
    fn redirect(&self, page: Option<String>, refusal: ApiError) -> Response {
        let Some(page) = page else {
            return refusal.into_response();
        };
        let response = match self.redirect_status {
            StatusCode::UNAUTHORIZED => refusal.into_response(),
            status => status.into_response(),
        };
        // The session may have ended since the browser loaded its last page. The browser must not show pages of the
        // application from its cache again.
        let headers = [(LOCATION, page.as_str()), (CLEAR_SITE_DATA, CACHE)];
        (headers, response).into_response()
    }
}

/// Returns `true` if a browser added a password to its request for a page. The person may have typed that password long
/// ago.
fn is_remembered_password(headers: &HeaderMap) -> bool {
    BrowserRequest::forwarded(headers).is_declared_navigation()
        && matches!(authorization(headers), Ok(Authorization::Basic { .. }))
}
