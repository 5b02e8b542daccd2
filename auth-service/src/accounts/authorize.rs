//! Authorizes the bearer of an access token, a session or an API key.

use super::{error::AccountError, service::Accounts, sessions::IdleSession};
use crate::{
    actor::{Actor, ActorToken},
    audit, metrics,
    opaque_token::{self, TokenBearer, TokenKind},
    store::UsageKind,
    token::VerifiedToken,
    user::User,
};
use rolegate_proto::{Reason, Role, limits::DOMAIN_SESSION_PREFIX};
use rolegate_sql_store::Timed;
use rolegate_telemetry::request_context::RequestContext;
use std::{mem, net::IpAddr};

/// The roles that may pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    /// Every user with a valid token.
    AnyAuthenticated,
    /// Users whose stored role is listed.
    Roles(Vec<Role>),
}

impl Requirement {
    pub(crate) fn admits(&self, role: Role) -> bool {
        match self {
            Self::AnyAuthenticated => true,
            Self::Roles(roles) => roles.contains(&role),
        }
    }

    /// The reason for which a user is refused. A withheld role that the requirement admits is missing its second
    /// factor.
    pub(crate) fn refusal(&self, withheld: Option<Role>) -> Reason {
        match withheld {
            Some(role) if self.admits(role) => Reason::SecondFactorRequired,
            _ => Reason::RoleInsufficient,
        }
    }

    /// Of what users may do to themselves, and admins to the user with this id.
    pub(super) fn of_user_or_admin(user_id: Option<i64>) -> Self {
        user_id.map_or(Self::AnyAuthenticated, |_| Self::Roles(vec![Role::ADMIN]))
    }
}

/// One authorization of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Bearer {
    /// The access token, the session or the API key.
    pub(crate) access_token: String,
    pub(crate) requirement: Requirement,
    /// Of the end user, for the audit log; `None` for that of the call.
    pub(crate) client_address: Option<IpAddr>,
    /// Whether the token is from a cookie, which may hold a session and nothing else.
    pub(crate) from_cookie: bool,
}

/// A credential that may be good, except for a malformed opaque token.
enum Credential {
    Token(VerifiedToken),
    /// The digest of an opaque token; `None` for a malformed one.
    Opaque(PresentedToken, Option<String>),
}

/// An opaque token, and where it was presented.
#[derive(Clone, Copy)]
struct PresentedToken {
    kind: TokenKind,
    from_cookie: bool,
    /// Set for a token that may have been made as a bearer token, which one for a domain never was.
    may_be_unrestricted: bool,
}

impl Accounts {
    /// The bearer of the token, with the stored role. Checked in this order: the token is valid at the
    /// time of the database, its user exists and has revoked no tokens since, the requirement names roles of
    /// this service, the stored role may pass. The `role` claim is ignored. The bearer of an API key has the
    /// lower of the stored role and the key's; whatever is wrong with a key or a session, it is invalid.
    pub(crate) fn authorize(
        &self,
        access_token: &str,
        requirement: &Requirement,
    ) -> impl Future<Output = Result<Actor, AccountError>> {
        self.authorize_from(false, access_token, requirement)
    }

    /// The same, of a token that may be from a cookie.
    pub(crate) async fn authorize_from(
        &self,
        cookie: bool,
        access_token: &str,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        match self.credential(access_token, cookie)? {
            Credential::Token(token) => self.admit(
                self.reads.users.get(token.user_id).await?,
                &token,
                requirement,
            ),
            Credential::Opaque(presented, Some(digest)) => {
                let found = self.reads.tokens.get(digest).await?;
                let idle = self.end_idle_sessions(found.at, found.value.iter()).await;
                if presented.may_be_unrestricted {
                    let unrestricted = self.unrestricted_sessions(found.at, found.value.iter());
                    if !unrestricted.is_empty() {
                        // What is rare is boxed, or every decision would be larger.
                        Box::pin(self.restrict_to_cookies(&unrestricted)).await;
                    }
                }
                self.admit_opaque(presented, found, &idle, requirement)
            }
            Credential::Opaque(presented, None) => {
                self.admit_opaque(presented, Timed { at: 0, value: None }, &[], requirement)
            }
        }
    }

    /// [`Self::authorize`] for many bearers with one query for users and one for opaque tokens, at the same
    /// time, in the same order. Bearers that are `Err` stay so. Fails as a whole only when a query
    /// fails, and not because of one of the users.
    pub(crate) async fn authorize_batch(
        &self,
        bearers: Vec<Result<Bearer, AccountError>>,
    ) -> Result<Vec<Result<Actor, AccountError>>, AccountError> {
        let (mut ids, mut digests) = (Vec::with_capacity(bearers.len()), Vec::new());
        let mut digests_in_cookies = Vec::new();
        let verify = |bearer: Result<Bearer, AccountError>| {
            let bearer = bearer?;
            let credential = self.credential(&bearer.access_token, bearer.from_cookie)?;
            match &credential {
                Credential::Token(token) => ids.push(token.user_id),
                Credential::Opaque(presented, digest) => {
                    digests.extend(digest.clone());
                    if presented.may_be_unrestricted {
                        digests_in_cookies.extend(digest.clone());
                    }
                }
            }
            Ok((credential, bearer))
        };
        let verified: Vec<Result<_, AccountError>> = bearers.into_iter().map(verify).collect();
        let (users, tokens) = tokio::try_join!(
            self.reads.users.get_all(ids),
            self.reads.tokens.get_all(digests)
        )?;
        let stored = tokens.value.values().flatten();
        let idle = self.end_idle_sessions(tokens.at, stored).await;
        let in_cookies = digests_in_cookies
            .iter()
            .filter_map(|digest| tokens.value.get(digest)?.as_ref().ok());
        let unrestricted = self.unrestricted_sessions(tokens.at, in_cookies);
        if !unrestricted.is_empty() {
            self.restrict_to_cookies_beside(unrestricted);
        }
        let mut outcomes = Vec::with_capacity(verified.len());
        for verified in verified {
            let outcome = async {
                let (
                    credential,
                    Bearer {
                        requirement,
                        client_address,
                        ..
                    },
                ) = verified?;
                match credential {
                    Credential::Token(token) => {
                        let value = users.value.get(&token.user_id).cloned().transpose()?;
                        self.admit(
                            Timed {
                                at: users.at,
                                value,
                            },
                            &token,
                            &requirement,
                        )
                    }
                    Credential::Opaque(presented, digest) => {
                        let found = digest.and_then(|digest| tokens.value.get(&digest).cloned());
                        let found = Timed {
                            at: tokens.at,
                            value: found.transpose()?,
                        };
                        let admitted =
                            async { self.admit_opaque(presented, found, &idle, &requirement) };
                        RequestContext::with_client_address(client_address, admitted).await
                    }
                }
            };
            outcomes.push(outcome.await);
        }
        Ok(outcomes)
    }

    pub(super) async fn authorize_admin(&self, access_token: &str) -> Result<Actor, AccountError> {
        self.authorize(access_token, &Requirement::Roles(vec![Role::ADMIN]))
            .await
    }

    /// A cookie may hold a session and nothing else, and one for a domain may be nowhere else. A token in a place where
    /// its kind is not allowed is treated as malformed.
    fn credential(&self, credential: &str, cookie: bool) -> Result<Credential, AccountError> {
        let Some(kind) = TokenKind::detect(credential) else {
            let token = self.tokens.verify(credential).filter(|_| !cookie);
            return Ok(Credential::Token(token.ok_or(Reason::TokenInvalid)?));
        };
        let is_for_domain = credential.starts_with(DOMAIN_SESSION_PREFIX);
        let is_allowed = if cookie {
            kind == TokenKind::Session
        } else {
            !is_for_domain
        };
        let presented = PresentedToken {
            kind,
            from_cookie: cookie,
            may_be_unrestricted: cookie && !is_for_domain,
        };
        Ok(Credential::Opaque(
            presented,
            opaque_token::digest(credential).filter(|_| is_allowed),
        ))
    }

    /// Checks a signed token by its stored user.
    fn admit(
        &self,
        Timed { at, value: user }: Timed<Option<User>>,
        token: &VerifiedToken,
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        if !token.is_valid_at(at) {
            return Err(Reason::TokenInvalid.into());
        }
        let user = user
            .filter(|user| !user.disabled)
            .ok_or(Reason::TokenUserNotFound)?;
        if token.is_revoked(&user) {
            return Err(Reason::TokenInvalid.into());
        }
        self.check(
            Actor {
                user,
                ineffective_role: None,
                token: None,
                expires_at: Some(token.exp),
                at,
            },
            requirement,
        )
    }

    /// Checks a stored opaque token and notes its use.
    fn admit_opaque(
        &self,
        presented: PresentedToken,
        Timed { at, value: stored }: Timed<Option<TokenBearer>>,
        idle: &[IdleSession],
        requirement: &Requirement,
    ) -> Result<Actor, AccountError> {
        let is_idle = |token: &TokenBearer| idle.iter().find(|(id, _)| *id == token.token_id);
        if let Some((_, Some(error))) = stored.as_ref().and_then(is_idle) {
            return Err(error.clone().into());
        }
        let is_good = |token: &TokenBearer| {
            let is_in_place = presented.from_cookie || !token.cookie_only;
            is_in_place && token.is_active_at(at) && is_idle(token).is_none()
        };
        let kind = presented.kind;
        let is_key = kind == TokenKind::ApiKey;
        if is_key {
            metrics::count_api_key(stored.as_ref().is_some_and(is_good));
        }
        let stored = match stored {
            Some(stored) if is_good(&stored) => stored,
            refused => {
                if is_key {
                    self.note_api_key_refused(refused.as_ref());
                }
                return Err(Reason::TokenInvalid.into());
            }
        };
        if is_key {
            audit::log_api_key_use(&stored);
        }
        self.store.note_use(UsageKind::Token, stored.token_id, at);
        self.check(
            Actor {
                ineffective_role: None,
                token: Some(ActorToken {
                    kind,
                    id: stored.token_id,
                }),
                expires_at: stored.expires_at,
                at,
                user: stored.into_bounded_user(),
            },
            requirement,
        )
    }

    /// Checks the role. One that does not count here grants what any user may.
    fn check(&self, mut actor: Actor, requirement: &Requirement) -> Result<Actor, AccountError> {
        if let Requirement::Roles(required) = requirement {
            self.expect_known(required)?;
        }
        actor.ineffective_role = self.take_ineffective_role(&mut actor.user);
        if requirement.admits(actor.user.role) {
            return Ok(actor);
        }
        Err(requirement.refusal(actor.ineffective_role).into())
    }

    /// Rejects a requirement of a role that this service does not have: it would admit nobody by it.
    pub(crate) fn expect_known(&self, required: &[Role]) -> Result<(), AccountError> {
        let is_known = required.iter().all(|role| self.policy.roles.contains(role));
        let invalid = AccountError::request("the requirement names an unknown role");
        if is_known { Ok(()) } else { Err(invalid) }
    }

    /// Replaces a role that this service does not have, or that needs a second factor, by what any user may do, and
    /// returns it.
    pub(super) fn take_ineffective_role(&self, user: &mut User) -> Option<Role> {
        let is_known = self.policy.roles.contains(&user.role);
        let counts = is_known && !self.policy.second_factor.is_required_but_missing(user);
        (!counts).then(|| mem::replace(&mut user.role, Role::USER))
    }
}
