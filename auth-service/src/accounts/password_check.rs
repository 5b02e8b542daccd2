//! A username and a password from somewhere, and whether they belong together.

use super::{AccountError, Accounts, Origin, Username};
use crate::{
    audit::{self, Event, Failure, Way},
    metrics,
    password::{Checked, Password, Urgency},
    user::Credentials,
};
use rolegate_telemetry::request_context::RequestContext;
use secrecy::{ExposeSecret, SecretString};
use std::time::Instant;

/// What somebody claims. A name or a password that nobody can have is kept as `None`: it is checked
/// like any other, against the stand-in, and is wrong.
pub(super) struct Claim<'a> {
    /// As sent.
    pub(super) text: &'a str,
    username: Option<Username>,
    password: Option<Password>,
}

impl<'a> Claim<'a> {
    pub(super) fn new(username: &'a str, password: SecretString) -> Self {
        // What may be set is `register`'s rule; what was set under an older rule stays good.
        let password = Password::new(password, 1).ok();
        Self { text: username, username: Username::new(username).ok(), password }
    }

    pub(super) fn password(&self) -> Option<&Password> {
        self.password.as_ref()
    }
}

impl Accounts {
    /// The stored credentials of the claimed name.
    pub(super) async fn stored(
        &self,
        claim: &Claim<'_>,
    ) -> Result<Option<Credentials>, AccountError> {
        match &claim.username {
            Some(username) => Ok(self.reads.credentials(username.as_str().to_owned()).await?),
            None => Ok(None),
        }
    }

    /// The work of a check, counted as a guess unless the password was right, or was not looked at.
    /// An unknown name costs what a wrong password costs. The audit is told of every verdict.
    pub(super) async fn guess(
        &self,
        claim: &Claim<'_>,
        stored: Option<&Credentials>,
        origin: Origin,
        way: Way,
    ) -> Result<Checked, AccountError> {
        let user = stored.map(|stored| &stored.user);
        let attempt = self.logins.reserve(claim.text, origin.client(), Instant::now());
        let attempt = attempt.inspect_err(|many| {
            metrics::limit_refused("login");
            // Whoever is refused at the speed of the network must not fill the log as quickly.
            if many.is_news {
                audit::tell(Event::LoginFailed { user, way, reason: Failure::TooManyAttempts });
            }
        })?;
        let hash = stored.map(|stored| &stored.password_hash);
        let checked = self.hasher.verify(claim.password(), hash, urgency(origin)).await;
        if checked.as_ref().map_or(true, |checked| checked.is_right) {
            attempt.give_back();
        }
        let checked = checked?;
        audit::tell(match user {
            Some(user) if checked.is_right => Event::LoginOk { user, way },
            Some(_) => Event::LoginFailed { user, way, reason: Failure::WrongPassword },
            None => Event::LoginFailed { user, way, reason: Failure::UnknownUser },
        });
        Ok(checked)
    }

    /// Replaces a hash of another cost, now that its password is at hand. In the background: the
    /// caller has waited for one hash already. Never over a hash that somebody changed meanwhile.
    pub(super) fn renew_hash(&self, claim: &Claim<'_>, stored: &Credentials, origin: Origin) {
        let Some(password) = claim.password().cloned() else { return };
        let (accounts, user_id) = (self.clone(), stored.user.id);
        let old = stored.password_hash.clone();
        tokio::spawn(RequestContext::carried(async move {
            let renewed = async {
                let new = accounts.hasher.hash(&password, urgency(origin)).await?;
                Ok::<_, AccountError>(accounts.store.replace_password(user_id, &old, new).await?)
            };
            match renewed.await {
                Ok(replaced) => tracing::info!(user_id, replaced, "renewed a password hash"),
                Err(error) => tracing::warn!(user_id, %error, "could not renew a password hash"),
            }
        }));
    }

    /// What stands for this check in the memory.
    pub(super) fn tag(
        &self,
        claim: &Claim<'_>,
        stored: Option<&Credentials>,
    ) -> Option<crate::password::memory::Tag> {
        let password = claim.password()?;
        let hash = stored.map(|stored| stored.password_hash.expose_secret());
        Some(self.memory.tag(claim.text, hash, password.expose()))
    }
}

/// For whom the engine works.
pub(super) fn urgency(origin: Origin) -> Urgency {
    Urgency { client: origin.client(), deadline: origin.deadline }
}
