//! Creates users, changes their roles and deletes them.
//!
//! When the store writes, it checks the role of the admin again. If two admins demote or delete
//! each other at the same time, the second is refused.

use super::Users;
use crate::{
    accounts::{
        error::AccountError,
        username::{ADMIN_USERNAME, check_new_username},
    },
    call_origin::CallOrigin,
    change::{Change, NewUser},
    metrics,
    principal::Principal,
    tokens::NewPasswordLink,
    user::User,
};
use rolegate_proto::{Reason, Role, UnknownRole};
use secrecy::SecretString;
use std::time::Instant;

/// A user whom an admin has created.
pub(crate) struct CreatedUser {
    pub(crate) user: User,
    /// The link at which the user chooses a password; `None` if the admin set one.
    pub(crate) link: Option<NewPasswordLink>,
}

impl Users {
    /// Registers a user with the role `user`. Fails if registration is closed, or if there were too
    /// many attempts from the address.
    pub(crate) async fn register(
        &self,
        username: &str,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        if !self.policy.registration_open {
            return Err(Reason::RegistrationClosed.into());
        }
        check_new_username(username)?;
        let password = self.policy.passwords.check(password)?;
        let _slot = self.hasher.admit_registration(origin).await?;
        // The limit counts per address, for all usernames. An attempt is never refunded, because
        // each of them costs a hash.
        let attempt = self
            .registration_limiter
            .acquire("", origin.client_key(), Instant::now())
            .inspect_err(|_| metrics::count_limit_refusal("registration"))?;
        drop(attempt);
        let new = NewUser {
            username: username.to_owned(),
            password_hash: self.hasher.hash(&password, origin).await?,
            role: Role::USER,
            link: None,
        };
        self.insert_user(Principal::Claimant, new).await
    }

    /// Creates a user with a role; the actor must be an admin. Without a password, the result also
    /// contains a link at which the user chooses one.
    ///
    /// It works even while registration is closed, and counts towards no limit. The contract fixes
    /// the order of the checks: the actor's token, the actor's role, the username, the password,
    /// the role.
    pub(crate) async fn create_user(
        &self,
        credential: &str,
        username: &str,
        password: Option<SecretString>,
        role: Result<Role, UnknownRole>,
        origin: CallOrigin,
    ) -> Result<CreatedUser, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        check_new_username(username)?;
        let password = match password {
            Some(password) => {
                self.policy.require_admins_set_passwords()?;
                Some(self.policy.passwords.check(password)?)
            }
            None => None,
        };
        let role = self.policy.require_known_role(role)?;
        let new = if let Some(password) = password {
            NewUser {
                username: username.to_owned(),
                password_hash: self.hasher.hash(&password, origin).await?,
                role,
                link: None,
            }
        } else {
            // An API key may create a link, because the link gives access to no existing account.
            let link = NewPasswordLink::generate(actor.at).map_err(AccountError::internal)?;
            NewUser::with_link(username.to_owned(), role, link)
        };
        let link = new.link.clone();
        let user = self.insert_user(Principal::Admin(actor), new).await?;
        Ok(CreatedUser { user, link })
    }

    /// Inserts a user, whom an admin creates or who registers.
    async fn insert_user(&self, by: Principal, new: NewUser) -> Result<User, AccountError> {
        // The name `admin` is refused even if it is free, as it is after `user delete admin`.
        // Otherwise a stranger could take it, and no admin could delete that user. The refusal
        // comes after the hash, so that it takes as long as for a name that is taken.
        if new.username == ADMIN_USERNAME {
            return Err(Reason::UsernameTaken.into());
        }
        // Hashing takes a while, so the store checks again that the actor is an admin.
        Ok(self.changes.apply(by, Change::CreateUser(new)).await?)
    }

    /// Replaces the role of a user; the actor must be an admin. The contract fixes the order of the
    /// checks: the actor's token, the actor's role, the user, the role. Therefore `role` may be an
    /// error, which is returned only after the checks before it.
    ///
    /// An API key cannot change the role of its own user. The write fails if no active admin would
    /// remain.
    pub(crate) async fn set_user_role(
        &self,
        credential: &str,
        user_id: i64,
        role: Result<Role, UnknownRole>,
    ) -> Result<User, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let from = self.authorizer.find_user(user_id).await?.role;
        let to = self.policy.require_known_role(role)?;
        let change = Change::SetRole { user_id, from, to };
        Ok(self.changes.apply(Principal::Admin(actor), change).await?)
    }

    /// Deletes a user, and returns the deleted user; the actor must be an admin.
    ///
    /// Admins cannot delete themselves, so one always remains. The user named `admin` cannot be
    /// deleted either, because the next start would create it again.
    pub(crate) async fn delete_user(
        &self,
        credential: &str,
        user_id: i64,
    ) -> Result<User, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let user = self.authorizer.find_user(user_id).await?;
        // Neither the id of the actor nor the name `admin` can change, so the store need not check
        // them again.
        if user.id == actor.user.id || user.username == ADMIN_USERNAME {
            return Err(Reason::UserNotDeletable.into());
        }
        let change = Change::DeleteUser { user_id };
        Ok(self.changes.apply(Principal::Admin(actor), change).await?)
    }
}
