//! Verifies usernames and passwords, for each request of HTTP Basic.

use super::{
    credentials::Presented, error::AccountError, service::Accounts, username::check_username,
};
use crate::{
    audit,
    call_origin::CallOrigin,
    metrics,
    password::{CacheKey, PresentedPassword},
    user::{Credentials, User},
};
use rolegate_proto::{Reason, Role};
use secrecy::{ExposeSecret as _, SecretString};

/// Credentials of a batch, and who presents them.
pub(crate) struct BasicCheck {
    pub(crate) username: String,
    pub(crate) password: SecretString,
    pub(crate) origin: CallOrigin,
}

/// The user, and the stored role if this service does not have it.
type Verified = (User, Option<Role>);

impl Accounts {
    /// The user of this name, if the password is correct, with the stored role if this service does not have
    /// it. Every call reads the stored hash; a success
    /// that is cached for this client runs no bcrypt and does not count as an attempt. The limit
    /// is asked first: a cached success must not tell a guesser over the limit which guess is right.
    pub(crate) async fn verify_credentials(
        &self,
        username: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<Verified, AccountError> {
        let presented = Presented::new(username, password, origin, "basic");
        self.check_limit(&presented).await?;
        let stored = self.load(&presented).await?;
        let active = stored.as_ref().filter(|stored| !stored.user.disabled);
        let password = presented.password.as_ref().map(PresentedPassword::secret);
        let key = password.map(|password| self.key(username, active, password, origin));
        let mut user = if let (Some(key), Some(stored)) = (&key, active)
            && let Some(hit) = self.cache.get(key, origin.deadline)
        {
            metrics::BASIC_CACHE_HITS.inc();
            if hit.is_first_in_minute {
                audit::login_ok(&stored.user, presented.method);
            }
            stored.user.clone()
        } else {
            // Boxed, so that a hit moves no room for a check.
            Box::pin(self.check_credentials(presented, stored, key)).await?
        };
        let unknown_role = self.take_unknown_role(&mut user);
        Ok((user, unknown_role))
    }

    /// The users of those checks that [`Self::verify_credentials`] would answer from the cache without a line in
    /// the audit log, read with one statement. It is asked for the others, which nothing here counts or refuses.
    pub(crate) async fn recall(
        &self,
        checks: Vec<Option<BasicCheck>>,
    ) -> Result<Vec<Option<Verified>>, AccountError> {
        let is_allowed = |BasicCheck { username, origin, .. }: &BasicCheck| {
            check_username(username).is_ok() && !self.logins.is_full(username, origin.client_key())
        };
        let checks: Vec<_> = checks.into_iter().map(|check| check.filter(is_allowed)).collect();
        let usernames = checks.iter().flatten().map(|check| check.username.clone()).collect();
        let stored = self.reads.credentials.get_all(usernames).await?.value;
        let recall = |check: Option<BasicCheck>| {
            let BasicCheck { username, password, origin } = check?;
            let stored = stored.get(&username).and_then(|stored| stored.as_ref().ok());
            let active = stored.filter(|stored| !stored.user.disabled);
            let key = self.key(&username, active, &password, origin);
            let is_hit = self.cache.is_audited(&key, origin.deadline);
            let mut user = active.filter(|_| is_hit)?.user.clone();
            metrics::BASIC_CACHE_HITS.inc();
            let unknown_role = self.take_unknown_role(&mut user);
            Some((user, unknown_role))
        };
        Ok(checks.into_iter().map(recall).collect())
    }

    /// Of a check in the cache. An unknown name costs as much as another.
    fn key(
        &self,
        username: &str,
        stored: Option<&Credentials>,
        password: &SecretString,
        origin: CallOrigin,
    ) -> CacheKey {
        let hash = stored.map(|stored| stored.password_hash.expose_secret());
        self.cache.key(username, hash, password.expose_secret(), origin.client_key())
    }

    /// Identical checks at the same time are one attempt: together they learn one result.
    async fn check_credentials(
        &self,
        presented: Presented<'_>,
        stored: Option<Credentials>,
        key: Option<CacheKey>,
    ) -> Result<User, AccountError> {
        let check = async {
            let _slot = self.hasher.admit(presented.origin).await?;
            Ok::<_, AccountError>(self.verify(&presented, stored.as_ref()).await?.is_match)
        };
        let is_match = match key {
            Some(key) => self.cache.single_flight(key, check).await?,
            None => check.await?,
        };
        let user = stored.filter(|_| is_match).ok_or(Reason::CredentialsInvalid)?.user;
        if let Some(key) = key {
            self.cache.insert(key, presented.origin.deadline);
        }
        Ok(user)
    }
}
