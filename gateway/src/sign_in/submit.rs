//! Serves `POST /sign-in`, which signs a person in.
//!
//! A sign-in is limited and checked like a login. It creates a session for each cookie that it sets, because the
//! session in the cookie of applications is accepted only there. A person with a second factor first gets the page that
//! asks for the code.
//!
//! The sessions that the browser had in these cookies end. However, if the cookie that the destination does not need
//! holds a session of a separate sign-in, that session stays.

use super::{
    cookies::{Audience, SignInCookies},
    page::refuse,
    sessions::PairedSession,
    sign_in_page::{NO_PROBLEM, SignInPage, notices},
    state::SignInState,
    submitted_form::SubmittedForm,
};
use crate::endpoints::sessions::creation::user_agent;
use axum::{
    Extension,
    extract::{Request, State},
    response::{AppendHeaders, IntoResponse as _, Redirect, Response, Result},
};
use http::{HeaderMap, header::SET_COOKIE};
use rolegate_auth_client::{
    CallContext, CallError, NewSession, Reason, SessionUse, SignInStep, TwoStepSignIn,
    axum::ApiError,
};
use rolegate_sign_in::{cookie::contains_session, design::Design};
use secrecy::SecretString;
use std::slice;

/// A form with which a person signs in, and the credentials that it contains.
struct SignInAttempt<'a> {
    form: &'a SubmittedForm,
    username: String,
    /// The password, which is empty if there is a pending sign-in.
    password: SecretString,
    /// The token of a pending sign-in. The page that asks for the code sends it in place of a password.
    pending: Option<SecretString>,
    /// A one-time code or a recovery code.
    code: Option<&'a str>,
}

/// The tokens of the sessions that a sign-in created, for the cookies of [`SignInCookies`] with the same names.
struct NewTokens {
    destination: SecretString,
    other: Option<SecretString>,
}

pub(super) async fn submit(
    State(state): State<SignInState>,
    Extension(context): Extension<CallContext>,
    request: Request,
) -> Result<Response> {
    let form = SubmittedForm::read(&state, request).await?;
    let return_address = form.return_address.as_ref();
    let location = return_address.map_or("/", |address| &address.location);
    // A person who is signed in already sees a button with this name, which continues without a password.
    if form.fields.optional("go_on")?.is_some() {
        return Ok(Redirect::to(location).into_response());
    }
    let attempt = SignInAttempt::read(&form)?;
    let design = state.sign_in.design(&form.headers);
    let cookies = state.sign_in_cookies(
        &form.headers,
        &form.origin,
        return_address,
        form.is_forwarded,
    );
    let step = attempt.create_session(&state, cookies.session_use, context);
    let created = match step.await {
        Ok(SignInStep::Done(created)) => created,
        Ok(SignInStep::CodeNeeded(pending)) => {
            return Ok(attempt.page(Some(&pending), NO_PROBLEM).respond(design));
        }
        Err(error) => return Ok(attempt.show_refusal(design, error)),
    };
    let max_age = max_age_seconds(&created);
    let tokens = NewTokens::assign(created, cookies.destination.audience);
    let other = end_old_sessions(&state, &form.headers, &cookies, tokens.other, context).await;
    let set_destination = cookies
        .destination
        .cookie
        .set(&tokens.destination, max_age)
        .ok_or(ApiError::from(CallError::Malformed))?;
    let set_other = other.and_then(|token| cookies.other.cookie.set(&token, max_age));
    let set_cookies = [Some(set_destination), set_other]
        .into_iter()
        .flatten()
        .map(|cookie| (SET_COOKIE, cookie));
    Ok((AppendHeaders(set_cookies), Redirect::to(location)).into_response())
}

impl<'a> SignInAttempt<'a> {
    fn read(form: &'a SubmittedForm) -> Result<Self, ApiError> {
        let fields = &form.fields;
        let username = fields.required("username")?;
        let pending = fields.optional("pending_sign_in")?.map(SecretString::from);
        let password = match &pending {
            Some(_) => SecretString::default(),
            None => fields.required("password")?.into(),
        };
        let one_time_code = fields.optional("otp")?;
        let recovery_code = fields.optional("recovery_code")?;
        let is_filled_in = |code: &&str| !code.trim().is_empty();
        Ok(Self {
            form,
            username,
            password,
            pending,
            code: one_time_code
                .filter(is_filled_in)
                .or(recovery_code.filter(is_filled_in)),
        })
    }

    async fn create_session(
        &self,
        state: &SignInState,
        session_use: SessionUse,
        context: CallContext,
    ) -> Result<SignInStep, ApiError> {
        let two_step = TwoStepSignIn {
            // auth-service accepts the second step of a sign-in only at the origin of the first step.
            place: self.form.origin.serialized(),
            pending: self.pending.clone(),
        };
        // People are not asked for a name of the session. The list of their sessions shows the browser instead, from
        // `user_agent`.
        let name = None;
        let user_agent = user_agent(&self.form.headers);
        let call = state.gateway.auth.create_session(
            &self.username,
            &self.password,
            self.code,
            name,
            user_agent.as_deref(),
            session_use,
            two_step,
            context,
        );
        state.gateway.refusals.run_login(context, call).await
    }

    /// Returns the page that the form was on, with the username that was typed and the reason of the refusal. If the
    /// pending sign-in has ended, the page asks for the password again.
    fn show_refusal(&self, design: Design<'_>, error: ApiError) -> Response {
        let has_pending_ended = error.reason() == Reason::TokenInvalid.as_str();
        refuse(design, error, |problem| {
            if has_pending_ended {
                let problem = design.render("{sign_in.ended}", &[]);
                return self.page(None, &problem).respond(design);
            }
            self.page(self.pending.as_ref(), problem).respond(design)
        })
    }

    /// Returns the page that the form was on. With a pending sign-in, it asks for the code.
    fn page<'p>(&'p self, pending: Option<&'p SecretString>, problem: &'p str) -> SignInPage<'p> {
        SignInPage {
            return_address: self.form.return_address.as_ref(),
            notices: notices(&self.form.query),
            signed_in: None,
            username: &self.username,
            pending,
            problem,
        }
    }
}

/// Returns the time for which browsers keep the cookies of a session, in seconds.
fn max_age_seconds(created: &NewSession) -> u64 {
    created
        .expires_at
        .duration_since(created.created_at)
        .unwrap_or_default()
        .as_secs()
}

impl NewTokens {
    /// Assigns the tokens to the cookies. An auth-service of the previous release creates only one session, which is
    /// for the destination.
    fn assign(created: NewSession, destination: Audience) -> Self {
        match (destination, created.application_token) {
            (Audience::Applications, Some(application_token)) => Self {
                destination: application_token,
                other: Some(created.token),
            },
            (_, other) => Self {
                destination: created.token,
                other,
            },
        }
    }
}

/// Ends the sessions that the browser had in the cookies that are set. Returns the token to set in the other cookie.
///
/// If the other cookie still has a valid session of a separate sign-in, that session stays, whichever user it belongs
/// to. The new session for the other cookie is ended instead, and there is no token to set.
async fn end_old_sessions(
    state: &SignInState,
    headers: &HeaderMap,
    cookies: &SignInCookies<'_>,
    other_token: Option<SecretString>,
    context: CallContext,
) -> Option<SecretString> {
    let mut replaced = cookies.destination.cookie.sessions(headers);
    let mut others = cookies.other.cookie.sessions(headers);
    if !cookies.sets_both {
        // A session that is also in the console's cookie continues there.
        replaced.retain(|session| !contains_session(&others, session));
        state
            .end_sessions_or_log(&replaced, PairedSession::Stays, context)
            .await;
        return other_token;
    }
    // This also ends the session that an earlier sign-in created together with these, for the other cookie.
    state
        .end_sessions_or_log(&replaced, PairedSession::Ends, context)
        .await;
    others.retain(|session| !contains_session(&replaced, session));
    // A session that is still valid comes from a separate sign-in, and a person may be using the other pages with it.
    // `None` means that there is no valid session, that several are valid, or that one cannot be checked. In all three
    // cases the old sessions end, and the new one takes the cookie.
    let user_of_other_cookie = state
        .find_user(cookies.other.audience, &others, context)
        .await;
    if user_of_other_cookie.is_none() {
        state
            .end_sessions_or_log(&others, PairedSession::Ends, context)
            .await;
        return other_token;
    }
    if let Some(unused) = other_token {
        state
            .end_sessions_or_log(slice::from_ref(&unused), PairedSession::Stays, context)
            .await;
    }
    None
}
