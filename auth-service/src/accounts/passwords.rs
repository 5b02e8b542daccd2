//! Replaces passwords: users change their own, and admins set the passwords of other users.

use super::{
    credentials::PresentedCredentials, error::AccountError, requirement::Requirement,
    seed::ADMIN_USERNAME, service::Accounts, write::revoke_again,
};
use crate::{
    actor::Actor,
    audit::{Change, Write},
    call_origin::CallOrigin,
    store::{UserStore, WriteError, Writer},
    user::{Credentials, User},
};
use rolegate_http_server::clients::ClientSlot;
use rolegate_proto::Reason;
use secrecy::SecretString;
use std::{ops::RangeInclusive, time::Instant};

/// The stored credentials of a user who has confirmed a change by entering the current password.
pub(super) struct ConfirmedPassword {
    pub(super) stored: Credentials,
    /// The client's slot in the password engine, which is kept for hashing the new password.
    _slot: ClientSlot,
}

impl Accounts {
    /// Returns the lengths, in bytes, that a new password may have.
    pub(crate) fn password_lengths(&self) -> RangeInclusive<usize> {
        self.policy.passwords.lengths()
    }

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
        let requirement = Requirement::AnyAuthenticated;
        let actor = self.authorize_person(credential, &requirement).await?;
        let new = self.policy.passwords.check(new)?;
        let confirmed = self
            .confirm_password(&actor.user, current, "password_change", origin)
            .await?;
        let write = Write::by_owner(&actor, Change::PasswordChanged);
        // The store writes only if the password is still the one that was checked, so one of two
        // concurrent changes fails.
        let owner = Writer::Owner {
            tokens_not_before: confirmed.stored.user.tokens_not_before,
            session_id: actor.session_id(),
        };
        let hash = self.hasher.hash(&new, origin).await?;
        let changed = self
            .replace_password(actor.user.id, hash, owner, write)
            .await;
        let otherwise = Reason::CurrentPasswordWrong;
        self.reauthorize_if_changed(changed, credential, &requirement, otherwise)
            .await
    }

    /// Checks the current password that a user enters to confirm a change, and returns the stored
    /// credentials. The check is limited and recorded like a login. Fails with
    /// [`Reason::CurrentPasswordWrong`] if the password is wrong.
    pub(super) async fn confirm_password(
        &self,
        user: &User,
        current: SecretString,
        method: &'static str,
        origin: CallOrigin,
    ) -> Result<ConfirmedPassword, AccountError> {
        let mut presented = PresentedCredentials::new(&user.username, current, origin, method);
        presented.confirms_change = true;
        self.check_limit(&presented).await?;
        let slot = self.hasher.admit(origin).await?;
        // Since the credential was authorized, the user may have been deleted, and another user may
        // have taken the name.
        let stored = self
            .load_credentials(&presented)
            .await?
            .filter(|stored| stored.user.id == user.id)
            .ok_or(Reason::TokenUserNotFound)?;
        if !self
            .check_hash_and_record(&presented, Some(&stored))
            .await?
            .is_match
        {
            return Err(Reason::CurrentPasswordWrong.into());
        }
        Ok(ConfirmedPassword {
            stored,
            _slot: slot,
        })
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
        self.require_admins_set_passwords()?;
        self.find_user(user_id).await?;
        let password = self.policy.passwords.check(password)?;
        // Hashing can take seconds under load, so the write checks again that the actor is an
        // admin.
        let writer = Writer::Admin(actor.user.id);
        let write = Write::by_actor(actor, Change::PasswordSet, user_id);
        let hash = self.hasher.hash(&password, origin).await?;
        let set = self.replace_password(user_id, hash, writer, write).await;
        let admin = Requirement::admin();
        self.reauthorize_if_changed(set, credential, &admin, Reason::UserNotFound)
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
            .authorize_person(credential, &Requirement::admin())
            .await?;
        if user_id == actor.user.id {
            // Admins change their own password with the current one. Otherwise the thief of a token
            // could take over the account.
            return Err(Reason::OwnPassword.into());
        }
        Ok(actor)
    }

    /// Fails if the settings allow admins only to create password links, not to set passwords.
    pub(super) fn require_admins_set_passwords(&self) -> Result<(), AccountError> {
        if self.policy.admins_set_passwords {
            return Ok(());
        }
        Err(Reason::PasswordLinkRequired.into())
    }

    /// Stores the hash of a new password, revokes the user's tokens like the function
    /// [`set_password`], and logs the change. Returns the user.
    ///
    /// Afterwards, entries of the Basic cache for the old hash no longer match. If the user is
    /// `admin`, the file with the initial password is removed.
    pub(super) async fn replace_password(
        &self,
        user_id: i64,
        hash: SecretString,
        writer: Writer,
        write: Write,
    ) -> Result<User, WriteError> {
        let initial_password = self.initial_password.clone();
        write
            .run(
                &self.store,
                move |store, write| async move {
                    set_password(&*store, user_id, hash, writer, write).await
                },
                move |write, user: &User| {
                    write.log_user(user);
                    if user.username == ADMIN_USERNAME {
                        initial_password.remove();
                    }
                },
            )
            .await
    }
}

/// Sets a password and returns the user. Revokes the user's access tokens and sessions, except for
/// the session of the writer. If the write was slow, revokes them again, because logins with the
/// old password may have obtained new ones meanwhile.
pub(crate) async fn set_password(
    store: &dyn UserStore,
    user_id: i64,
    hash: SecretString,
    writer: Writer,
    write: Write,
) -> Result<User, WriteError> {
    let began = Instant::now();
    let session = writer.session_id();
    let user = store
        .set_password(user_id, hash, writer, write.clone())
        .await?;
    revoke_again(store, began, user, session, write).await
}
