//! Replaces passwords: users change their own, and admins set the passwords of other users.

use super::Users;
use crate::{
    accounts::{error::AccountError, policy::Requirement},
    actor::Actor,
    call_origin::CallOrigin,
    change::Change,
    principal::Principal,
    user::User,
};
use rolegate_proto::Reason;
use secrecy::SecretString;

impl Users {
    /// Replaces the password of the bearer, who must present the current one. Revokes the bearer's
    /// access tokens and sessions, except for the session that was presented. Returns the user.
    ///
    /// The new password is checked against the rules first, because that needs no hash. The check
    /// of the current password counts as a login attempt, so that a stolen token does not help to
    /// get around the rate limit. An API key is refused, because it acts for a program, which has
    /// no password.
    pub(crate) async fn change_password(
        &self,
        credential: &str,
        current: SecretString,
        new: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let actor = self
            .authorizer
            .authorize_person(credential, &Requirement::AnyAuthenticated)
            .await?;
        let new = self.policy.passwords.check(new)?;
        let user_id = actor.user.id;
        let confirmed = self
            .authenticator
            .confirm_password(actor, current, "password_change", origin)
            .await?;
        let hash = self.hasher.hash(&new, origin).await?;
        // The store writes only if the password is still the one that was checked, so one of two
        // concurrent changes fails.
        let change = Change::SetPassword { user_id, hash };
        let otherwise = Reason::CurrentPasswordWrong;
        self.change_or_reauthorize(credential, confirmed.by, change, otherwise)
            .await
    }

    /// Replaces the password of another user, revokes that user's access tokens and sessions, and
    /// returns the user. The contract fixes the order of the checks: the actor's token, the actor's
    /// role, the user, the password.
    pub(crate) async fn set_password(
        &self,
        credential: &str,
        user_id: i64,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_password_for(user_id, credential).await?;
        self.policy.require_admins_set_passwords()?;
        self.authorizer.find_user(user_id).await?;
        let password = self.policy.passwords.check(password)?;
        let hash = self.hasher.hash(&password, origin).await?;
        // Hashing can take seconds under load, so the write checks again that the actor is an
        // admin.
        let change = Change::SetPassword { user_id, hash };
        let by = Principal::Admin(actor);
        self.change_or_reauthorize(credential, by, change, Reason::UserNotFound)
            .await
    }

    /// Authorizes an admin to set another user's password, or to create a link at which that user
    /// chooses one. Returns the admin.
    pub(super) async fn authorize_password_for(
        &self,
        user_id: i64,
        credential: &str,
    ) -> Result<Actor, AccountError> {
        // An API key is refused, because a stolen one could otherwise get a password and log in.
        let actor = self
            .authorizer
            .authorize_person(credential, &Requirement::admin())
            .await?;
        if user_id == actor.user.id {
            // Admins change their own password with the current one. Otherwise the thief of a token
            // could take over the account.
            return Err(Reason::OwnPassword.into());
        }
        Ok(actor)
    }
}
