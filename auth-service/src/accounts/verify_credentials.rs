//! Verifies usernames and passwords, for each request of HTTP Basic.

use super::{
    credentials::Presented, error::AccountError, service::Accounts, username::check_username,
};
use crate::{
    audit,
    call_origin::CallOrigin,
    metrics,
    password::{CacheKey, Recall},
    user::{Credentials, User},
};
use rolegate_proto::{Reason, Role};
use rolegate_telemetry::log_once::LogOnce;
use secrecy::{ExposeSecret as _, SecretString};
use std::time::Duration;

/// Limits how often it is logged that the password of a user is being guessed.
static GUESSED: LogOnce<i64> = LogOnce::at_most(10, Duration::from_mins(1));

/// A username and a password of a batch, and who presents them.
pub(crate) type BasicCheck = (String, SecretString, CallOrigin);

/// The user, and the stored role if it does not count here.
pub(crate) type Verified = (User, Option<Role>);

impl Accounts {
    /// The user of this name, if the password is correct, with the stored role if it does
    /// not count here. Every call reads the stored hash; a success
    /// that is cached for this client runs no bcrypt and does not count as an attempt. The limit
    /// is asked first: a cached success must not tell a guesser over the limit which guess is right.
    pub(crate) async fn verify_credentials(
        &self,
        username: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<Verified, AccountError> {
        let mut presented = Presented::new(username, password, origin, "basic");
        self.check_limit(&presented).await?;
        let stored = self.load(&presented).await?;
        let active = stored.as_ref().filter(|stored| !stored.user.disabled);
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let key = presented.password.as_ref().map(|password| {
            let password = password.secret().expose_secret();
            self.cache
                .key(username, hash, password, origin.client_key())
        });
        // Basic has no second step: users with a second factor are checked at the same cost, then refused.
        let cached = active.filter(|stored| !stored.user.second_factor);
        let mut user = if let (Some(key), Some(stored)) = (&key, cached)
            && let Some(hit) = self.cache.get(key, origin.deadline)
        {
            metrics::BASIC_CACHE_HITS.inc();
            if hit.is_first_in_minute {
                audit::login_ok(&stored.user, presented.method);
            }
            stored.user.clone()
        } else {
            // Boxed, so that a hit moves no room for a check.
            Box::pin(self.check_credentials(&mut presented, stored, key)).await?
        };
        let withheld_role = self.take_withheld_role(&mut user);
        Ok((user, withheld_role))
    }

    /// The users of those checks that [`Self::verify_credentials`] would answer from the cache without a line in
    /// the audit log, read with one statement. It is asked for the others, which nothing here refuses. Here they count
    /// only towards the end of what is cached for the name.
    pub(crate) async fn recall(
        &self,
        checks: Vec<Option<BasicCheck>>,
    ) -> Result<Vec<Option<Verified>>, AccountError> {
        let is_allowed = |(username, _, origin): &BasicCheck| {
            check_username(username).is_ok() && !self.logins.is_full(username, origin.client_key())
        };
        let checks: Vec<_> = checks
            .into_iter()
            .map(|check| check.filter(is_allowed))
            .collect();
        let usernames = checks
            .iter()
            .flatten()
            .map(|(username, ..)| username.clone())
            .collect();
        let stored = self.reads.credentials.get_all(usernames).await?.value;
        let recall = |check: Option<BasicCheck>| {
            let (username, password, origin) = check?;
            let stored = stored
                .get(&username)
                .and_then(|stored| stored.as_ref().ok());
            let active = stored.filter(|stored| !stored.user.disabled);
            // For an unknown name too: it costs as much as another.
            let hash = active.map(|stored| stored.password_hash.expose_secret());
            let client = origin.client_key();
            let key = self
                .cache
                .key(&username, hash, password.expose_secret(), client);
            let recalled = self.cache.recall(&key, origin.deadline);
            if recalled == Recall::TooManyMisses {
                note_guess(stored.map(|stored| &stored.user));
            }
            let mut user = active
                .filter(|it| recalled.is_hit() && !it.user.second_factor)?
                .user
                .clone();
            metrics::BASIC_CACHE_HITS.inc();
            let withheld_role = self.take_withheld_role(&mut user);
            Some((user, withheld_role))
        };
        Ok(checks.into_iter().map(recall).collect())
    }

    /// Identical checks at the same time are one attempt: together they learn one result.
    async fn check_credentials(
        &self,
        presented: &mut Presented<'_>,
        stored: Option<Credentials>,
        key: Option<CacheKey>,
    ) -> Result<User, AccountError> {
        let check = async {
            let _slot = self.hasher.admit(presented.origin).await?;
            Ok::<_, AccountError>(self.verify(presented, stored.as_ref()).await?.is_match)
        };
        let is_match = match key {
            Some(key) => self.cache.single_flight(key, check).await?,
            None => check.await?,
        };
        let user = stored
            .filter(|_| is_match)
            .ok_or(Reason::CredentialsInvalid)?
            .user;
        self.second_step(&user, presented).await?;
        if let Some(key) = key {
            self.cache.insert(key, presented.origin.deadline);
        }
        Ok(user)
    }
}

/// Counts a guess in batches, and warns about the first of a user. A name that no user has is only counted: it is the text
/// of a client, and may be a password.
fn note_guess(user: Option<&User>) {
    metrics::limit_exceeded("basic");
    let Some(user) = user else { return };
    if GUESSED.is_due(user.id) {
        tracing::warn!(
            user_id = user.id,
            username = user.username,
            "a hundred wrong passwords in a minute, in batches of HTTP Basic"
        );
    }
}
