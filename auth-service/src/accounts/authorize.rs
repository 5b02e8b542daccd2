//! Authorizes the bearer of an access token or an API key.

use super::{error::AccountError, service::Accounts};
use crate::{
    api_key::{self, KeyBearer},
    audit, metrics,
    token::VerifiedToken,
    user::{Actor, User},
};
use rolegate_proto::{Reason, Role};
use rolegate_sql_store::Timed;
use rolegate_telemetry::request_context::RequestContext;
use std::net::IpAddr;

/// The roles that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Every user with a valid token.
    AnyAuthenticated,
    /// Users whose stored role is listed.
    Roles(Vec<Role>),
}

impl Requirement {
    /// Whether a user with this role may pass.
    #[must_use]
    pub fn admits(&self, role: Role) -> bool {
        match self {
            Self::AnyAuthenticated => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }

    fn check(&self, user: &User) -> Result<(), AccountError> {
        if self.admits(user.role) { Ok(()) } else { Err(Reason::RoleInsufficient.into()) }
    }

    /// Of what users may do to themselves, and admins to the user with this id.
    pub(super) fn of_user_or_admin(user_id: Option<i64>) -> Self {
        user_id.map_or(Self::AnyAuthenticated, |_| Self::Roles(vec![Role::ADMIN]))
    }
}

/// One authorization of a batch.
#[derive(Clone, Debug)]
pub struct Bearer {
    /// The access token or the API key.
    pub access_token: String,
    /// The roles that may pass.
    pub requirement: Requirement,
    /// Of the end user, for the audit log; `None` for that of the call.
    pub client_address: Option<IpAddr>,
}

/// A credential that may be good, except for a malformed key.
enum Credential {
    Token(VerifiedToken),
    /// The digest of a key; `None` for a malformed one.
    Key(Option<String>),
}

impl Accounts {
    /// The bearer of the token, with the stored role. Checked in this order: the token is valid at the
    /// time of the database, its user exists and has revoked no tokens since, the stored role may pass.
    /// The `role` claim is ignored. The bearer of an API key has the lower of the stored role and the
    /// key's; whatever is wrong with a key, it is invalid.
    pub async fn authorize(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<User, AccountError> {
        Ok(self.authorize_actor(access_token, requirement).await?.user)
    }

    /// The same, for calls that not every credential may make.
    pub(super) async fn authorize_actor(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        match self.credential(access_token)? {
            Credential::Token(token) => {
                admit(self.reads.users.get(token.user_id).await?, token, requirement)
            }
            Credential::Key(Some(digest)) => {
                self.admit_key(self.reads.keys.get(digest).await?, requirement)
            }
            Credential::Key(None) => self.admit_key(Timed { at: 0, value: None }, requirement),
        }
    }

    /// [`Self::authorize`] for many bearers with one query for users and one for API keys, at the same
    /// time, in the same order. Bearers that are `Err` stay so. Fails as a whole only when a query
    /// fails, and not because of one of the users.
    pub async fn authorize_batch(
        &self,
        bearers: Vec<Result<Bearer, AccountError>>,
    ) -> Result<Vec<Result<User, AccountError>>, AccountError> {
        let (mut ids, mut digests) = (Vec::with_capacity(bearers.len()), Vec::new());
        let verify = |bearer: Result<Bearer, AccountError>| {
            let bearer = bearer?;
            let credential = self.credential(&bearer.access_token)?;
            match &credential {
                Credential::Token(token) => ids.push(token.user_id),
                Credential::Key(digest) => digests.extend(digest.clone()),
            }
            Ok((credential, bearer))
        };
        let verified: Vec<Result<_, AccountError>> = bearers.into_iter().map(verify).collect();
        let (users, keys) =
            tokio::try_join!(self.reads.users.get_all(ids), self.reads.keys.get_all(digests))?;
        let mut outcomes = Vec::with_capacity(verified.len());
        for verified in verified {
            let outcome = async {
                let (credential, Bearer { requirement, client_address, .. }) = verified?;
                let actor = match credential {
                    Credential::Token(token) => {
                        let value = users.value.get(&token.user_id).cloned().transpose()?;
                        admit(Timed { at: users.at, value }, token, &requirement)?
                    }
                    Credential::Key(digest) => {
                        let key = digest.and_then(|digest| keys.value.get(&digest).cloned());
                        let key = Timed { at: keys.at, value: key.transpose()? };
                        let admitted = async { self.admit_key(key, &requirement) };
                        RequestContext::with_client_address(client_address, admitted).await?
                    }
                };
                Ok(actor.user)
            };
            outcomes.push(outcome.await);
        }
        Ok(outcomes)
    }

    /// The bearer of the credential, who must have the role `admin`.
    pub(super) async fn authorize_admin(&self, access_token: &str) -> Result<Actor, AccountError> {
        self.authorize_actor(access_token, &Requirement::Roles(vec![Role::ADMIN])).await
    }

    fn credential(&self, credential: &str) -> Result<Credential, AccountError> {
        if !api_key::is_api_key(credential) {
            let token = self.tokens.verify(credential).ok_or(Reason::TokenInvalid)?;
            return Ok(Credential::Token(token));
        }
        Ok(Credential::Key(api_key::digest(credential)))
    }

    /// Checks a stored key and notes its use.
    fn admit_key(
        &self,
        Timed { at, value: key }: Timed<Option<KeyBearer>>,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let is_good =
            |key: &KeyBearer| !key.user.disabled && key.expires_at.is_none_or(|end| at < end);
        metrics::api_key_presented(key.as_ref().is_some_and(is_good));
        let key = match key {
            Some(key) if is_good(&key) => key,
            refused => {
                audit::api_key_refused(refused.as_ref());
                return Err(Reason::TokenInvalid.into());
            }
        };
        audit::api_key_used(&key);
        self.store.note_key_use(key.key_id, at);
        let (key_id, user) = (Some(key.key_id), key.into_bounded_user());
        requirement.check(&user)?;
        Ok(Actor { user, key_id, at })
    }
}

impl Actor {
    /// The actor, unless it is an API key: for what only a person may do.
    pub(super) fn without_key(self) -> Result<Self, AccountError> {
        if self.key_id.is_some() { Err(Reason::RoleInsufficient.into()) } else { Ok(self) }
    }

    /// Refuses a change by an API key of its own user, whom it must not lock out.
    pub(super) fn may_change(&self, user_id: i64) -> Result<(), AccountError> {
        let is_own = self.key_id.is_some() && user_id == self.user.id;
        if is_own { Err(Reason::RoleInsufficient.into()) } else { Ok(()) }
    }
}

/// Checks a signed token by its stored user.
fn admit(
    Timed { at, value: user }: Timed<Option<User>>,
    token: VerifiedToken,
    requirement: &Requirement,
) -> Result<Actor, AccountError> {
    if !token.is_valid_at(at) {
        return Err(Reason::TokenInvalid.into());
    }
    let user = user.filter(|user| !user.disabled).ok_or(Reason::TokenUserNotFound)?;
    if token.is_revoked(&user) {
        return Err(Reason::TokenInvalid.into());
    }
    requirement.check(&user)?;
    Ok(Actor { user, key_id: None, at })
}
