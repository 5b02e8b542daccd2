//! Checks a username and a password: for a login, for HTTP Basic, and when users confirm a change.
//!
//! `check_limit` comes first and refuses clients and names over their limit. `load_credentials`
//! then reads the stored hash, and `check_hash_and_record` hashes the password, counts the attempt
//! and records the outcome. `rehash` replaces an outdated hash later.

use super::Authenticator;
use crate::{
    accounts::{
        error::AccountError, policy::Requirement, rate_limit::LimitExceeded,
        username::check_username,
    },
    actor::Actor,
    call_origin::CallOrigin,
    metrics,
    password::{PresentedPassword, Verification},
    principal::Principal,
    user::Credentials,
};
use rolegate_http_server::clients::ClientSlot;
use rolegate_program::request_context::RequestContext;
use rolegate_proto::Reason;
use secrecy::SecretString;
use std::{sync::Arc, time::Instant};

/// A username and a password to check. If one of them is malformed, they never match, but the check
/// takes as long as any other, so that its time reveals nothing.
pub(super) struct PresentedCredentials<'a> {
    pub(super) username: &'a str,
    has_valid_username: bool,
    /// The password; `None` if it is malformed.
    pub(super) password: Option<PresentedPassword>,
    pub(super) origin: CallOrigin,
    /// The purpose of the check, as the audit log names it, such as `login`.
    pub(super) method: &'static str,
    /// True if a signed-in user re-enters the password to confirm a change.
    pub(super) confirms_change: bool,
    /// The requirement to which the caller will compare the user.
    pub(super) requirement: Requirement,
}

impl<'a> PresentedCredentials<'a> {
    pub(super) fn new(
        username: &'a str,
        password: SecretString,
        origin: CallOrigin,
        method: &'static str,
    ) -> Self {
        Self {
            username,
            has_valid_username: check_username(username).is_ok(),
            password: PresentedPassword::new(password).ok(),
            origin,
            method,
            confirms_change: false,
            requirement: Requirement::AnyAuthenticated,
        }
    }
}

/// The proof that a user has confirmed a change by entering the current password.
pub(crate) struct ConfirmedPassword {
    /// The owner who makes the change. The write fails if the password has changed since it was confirmed.
    pub(crate) by: Principal,
    /// The client's slot in the password engine, which is kept for hashing the new password.
    _slot: ClientSlot,
}

impl Authenticator {
    /// Reads the stored credentials of the username; `None` if the name is unknown or malformed.
    pub(super) async fn load_credentials(
        &self,
        presented: &PresentedCredentials<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        if !presented.has_valid_username {
            return Ok(None);
        }
        let username = presented.username.to_owned();
        let key = presented.requirement.decision_key(username);
        Ok(self.reads.credentials.get(key).await?.value)
    }

    /// Refuses the check of a password if the client or the name is over its limit. The call counts
    /// no attempt, but records or counts a refusal.
    ///
    /// It comes before all other work, so that refusals cost little in a flood. Over the limit,
    /// even the correct password is refused, whether it is cached or not, so a guesser learns
    /// nothing.
    pub(super) async fn check_limit(
        &self,
        presented: &PresentedCredentials<'_>,
    ) -> Result<(), AccountError> {
        let client = presented.origin.client_key();
        let Err(exceeded) = self.login_limiter.check(presented.username, client) else {
            return Ok(());
        };
        // The user is read only for the audit log, so a failed read does not change the refusal.
        let stored = if exceeded.first_in_window {
            self.load_credentials(presented).await.ok().flatten()
        } else {
            None
        };
        Err(self.refuse_over_limit(exceeded, presented, stored.as_ref()))
    }

    /// Returns the error of a check over the limit. Only the first refusal of a window is logged
    /// and recorded, because a flood of refusals must not fill the log. Further refusals are
    /// counted.
    fn refuse_over_limit(
        &self,
        exceeded: LimitExceeded,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
    ) -> AccountError {
        metrics::count_limit_refusal("login");
        if exceeded.first_in_window {
            let user = stored.map(|stored| &stored.user);
            self.recorder
                .record_login_failure(user, presented.method, "too_many_attempts");
        } else {
            self.recorder.count_refusal();
        }
        exceeded.into()
    }

    /// Checks the password against the stored hash, and records the sign-in, or the failure with
    /// its reason. Fails if a limit was reached since `check_limit`, or if the password could not
    /// be checked.
    ///
    /// The check counts as an attempt, unless the password is correct or could not be checked. For
    /// an unknown user, a password is hashed all the same, so that the response time does not
    /// reveal which names exist.
    pub(super) async fn check_hash_and_record(
        &self,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
    ) -> Result<Verification, AccountError> {
        let client = presented.origin.client_key();
        let attempt = self
            .login_limiter
            .acquire(presented.username, client, Instant::now())
            .map_err(|exceeded| self.refuse_over_limit(exceeded, presented, stored))?;
        // A disabled user is checked like an unknown one, so that both take the same time.
        let hash = stored
            .filter(|stored| !stored.user.disabled)
            .map(|stored| &stored.password_hash);
        let verified = self
            .hasher
            .verify(presented.password.as_ref(), hash, presented.origin)
            .await;
        match &verified {
            Ok(verified) if verified.is_match => attempt.succeed(),
            Ok(_) => drop(attempt),
            Err(_) => attempt.refund(),
        }
        let verified = verified?;
        self.record_verification(presented, stored, verified.is_match);
        Ok(verified)
    }

    fn record_verification(
        &self,
        presented: &PresentedCredentials<'_>,
        stored: Option<&Credentials>,
        is_match: bool,
    ) {
        let method = presented.method;
        let Some(user) = stored.map(|stored| &stored.user) else {
            return self
                .recorder
                .record_login_failure(None, method, "unknown_user");
        };
        if is_match {
            // The sign-in of a user with a second factor is not complete yet: the check of the code
            // records the sign-in later.
            if !user.second_factor || presented.confirms_change {
                self.recorder.record_login(user, method);
            }
            return;
        }
        let reason = if user.disabled {
            "disabled"
        } else {
            "wrong_password"
        };
        self.recorder
            .record_login_failure(Some(user), method, reason);
    }

    /// Checks the current password that a user enters to confirm a change. The check is limited and
    /// recorded like a login. Fails with [`Reason::CurrentPasswordWrong`] if the password is wrong.
    pub(crate) async fn confirm_password(
        &self,
        actor: Actor,
        current: SecretString,
        method: &'static str,
        origin: CallOrigin,
    ) -> Result<ConfirmedPassword, AccountError> {
        let username = &actor.user.username;
        let mut presented = PresentedCredentials::new(username, current, origin, method);
        presented.confirms_change = true;
        self.check_limit(&presented).await?;
        let slot = self.hasher.admit(origin).await?;
        // Since the credential was authorized, the user may have been deleted, and another user may
        // have taken the name.
        let stored = self
            .load_credentials(&presented)
            .await?
            .filter(|stored| stored.user.id == actor.user.id)
            .ok_or(Reason::TokenUserNotFound)?;
        if !self
            .check_hash_and_record(&presented, Some(&stored))
            .await?
            .is_match
        {
            return Err(Reason::CurrentPasswordWrong.into());
        }
        Ok(ConfirmedPassword {
            by: Principal::Owner(Actor {
                user: stored.user,
                ..actor
            }),
            _slot: slot,
        })
    }

    /// Replaces an outdated hash by one with the algorithm, cost and pepper of new hashes. If
    /// another hash was stored since `stored` was read, nothing is replaced.
    ///
    /// This runs in the background, because the caller has already waited for one hash. A failure
    /// is only logged.
    pub(super) fn rehash(&self, presented: &PresentedCredentials<'_>, stored: Credentials) {
        let password = presented.password.as_ref();
        let Some(password) = password.and_then(PresentedPassword::valid).cloned() else {
            return;
        };
        let store = Arc::clone(&self.store);
        let hasher = self.hasher.clone();
        let origin = presented.origin;
        let user_id = stored.user.id;
        let old = stored.password_hash;
        tokio::spawn(RequestContext::propagate(async move {
            let rehashed = async {
                let new = hasher.hash(&password, origin).await?;
                Ok::<_, AccountError>(store.replace_password(user_id, &old, new).await?)
            };
            match rehashed.await {
                Ok(replaced) => tracing::info!(user_id, replaced, "rehashed a password"),
                Err(error) => tracing::warn!(user_id, %error, "could not rehash a password"),
            }
        }));
    }
}
