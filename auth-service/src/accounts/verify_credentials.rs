//! Verifies a username and a password, for each request of HTTP Basic.

use super::{credentials::Presented, error::AccountError, service::Accounts};
use crate::{
    audit,
    call_origin::CallOrigin,
    metrics,
    password::CacheKey,
    user::{Credentials, User},
};
use rolegate_proto::{Reason, Role};
use secrecy::{ExposeSecret as _, SecretString};

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
    ) -> Result<(User, Option<Role>), AccountError> {
        let presented = Presented::new(username, password, origin, "basic");
        self.check_limit(&presented).await?;
        let stored = self.load(&presented).await?;
        let active = stored.as_ref().filter(|stored| !stored.user.disabled);
        let hash = active.map(|stored| stored.password_hash.expose_secret());
        let key = presented.password.as_ref().map(|password| {
            let password = password.secret().expose_secret();
            self.cache.key(username, hash, password, origin.client_key())
        });
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
