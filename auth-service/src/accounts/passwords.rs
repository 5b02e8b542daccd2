//! Replaces passwords: for their owners, and for admins.

use super::{
    authorize::Requirement, credentials::Presented, error::AccountError, seed::ADMIN_USERNAME,
    service::Accounts, write::revoke_again,
};
use crate::{
    actor::Actor,
    audit::{Change, Initiator, Write},
    call_origin::CallOrigin,
    password::Password,
    store::{UserStore, WriteError, Writer},
    user::{Credentials, User},
};
use rolegate_http_server::clients::ClientSlot;
use rolegate_proto::{Reason, Role};
use secrecy::SecretString;
use std::{ops::RangeInclusive, sync::Arc, time::Instant};

impl Accounts {
    /// How many bytes a new password may have.
    pub(crate) fn password_lengths(&self) -> RangeInclusive<usize> {
        self.policy.passwords.lengths()
    }

    /// Replaces the password of the bearer, who must present the current one, and revokes their
    /// tokens and sessions, but a session that is the bearer's. The rules of the new password are checked first, because that needs no hash. A check
    /// of the current password counts as a login attempt, so that a stolen token does not bypass the
    /// rate limit. An API key cannot: it acts for a program, which has no password.
    pub(crate) async fn change_password(
        &self,
        access_token: &str,
        current: SecretString,
        new: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let any = Requirement::AnyAuthenticated;
        let actor = self.authorize(access_token, &any).await?.require_person()?;
        let (session, user) = (actor.session_id(), actor.user);
        let new = self.policy.passwords.check(new)?;
        let method = "password_change";
        let (stored, _slot) = self
            .confirm_password(&user, current, method, origin)
            .await?;
        let (change, by) = (Change::PasswordChanged, Initiator::Owner { session });
        let write = Write::new(change, by, Some(user.id));
        // Only if the password is still the one checked: of two concurrent changes, one fails.
        let owner = Writer::Owner {
            tokens_not_before: stored.user.tokens_not_before,
            session_id: session,
        };
        let changed = self
            .replace_password(write, user.id, &new, owner, origin)
            .await?;
        self.or_reauthorize(changed, access_token, &any, Reason::CurrentPasswordWrong)
            .await
    }

    /// Checks the current password of a user who acts; what is stored of it. The slot is the client's place for a
    /// hash.
    pub(super) async fn confirm_password(
        &self,
        user: &User,
        current: SecretString,
        method: &'static str,
        origin: CallOrigin,
    ) -> Result<(Credentials, ClientSlot), AccountError> {
        let mut presented = Presented::new(&user.username, current, origin, method);
        presented.confirms = true;
        self.check_limit(&presented).await?;
        let slot = self.hasher.admit(origin).await?;
        // A deleted user's name may have been registered again.
        let stored = self
            .load(&presented)
            .await?
            .filter(|stored| stored.user.id == user.id);
        let stored = stored.ok_or(Reason::TokenUserNotFound)?;
        if self.verify(&presented, Some(&stored)).await?.is_match {
            Ok((stored, slot))
        } else {
            Err(Reason::CurrentPasswordWrong.into())
        }
    }

    /// Replaces the password of another user and revokes the user's tokens. The contract fixes the order
    /// of the checks: the actor's token, the actor's role, the user, the password.
    pub(crate) async fn set_password(
        &self,
        access_token: &str,
        user_id: i64,
        password: SecretString,
        origin: CallOrigin,
    ) -> Result<User, AccountError> {
        let actor = self.admin_of_another(access_token, user_id).await?;
        self.admins_set_passwords()?;
        self.find(user_id).await?;
        let password = self.policy.passwords.check(password)?;
        // Hashing can take seconds under load, so the write re-checks that the actor is an admin.
        let writer = Writer::Admin(actor.user.id);
        let write = Write::by_actor(actor, Change::PasswordSet, user_id);
        let set = self
            .replace_password(write, user_id, &password, writer, origin)
            .await?;
        let admin = Requirement::Roles(vec![Role::ADMIN]);
        self.or_reauthorize(set, access_token, &admin, Reason::UserNotFound)
            .await
    }

    /// The admin who gives another user a password or the way to one.
    pub(super) async fn admin_of_another(
        &self,
        access_token: &str,
        user_id: i64,
    ) -> Result<Actor, AccountError> {
        // Nor may a stolen API key, which would then log in.
        let actor = self.authorize_admin(access_token).await?.require_person()?;
        if user_id == actor.user.id {
            // A stolen token must not become an account: the own password needs the current one.
            return Err(Reason::OwnPassword.into());
        }
        Ok(actor)
    }

    pub(super) fn admins_set_passwords(&self) -> Result<(), AccountError> {
        let may = self.policy.admins_set_passwords;
        may.then_some(())
            .ok_or_else(|| Reason::PasswordLinkRequired.into())
    }

    /// Cache entries of the old hash no longer match.
    pub(super) async fn replace_password(
        &self,
        write: Write,
        user_id: i64,
        password: &Password,
        writer: Writer,
        origin: CallOrigin,
    ) -> Result<Result<User, WriteError>, AccountError> {
        let hash = self.hasher.hash(password, origin).await?;
        let (store, initial) = (Arc::clone(&self.store), self.initial_password.clone());
        let set =
            move |write| async move { set_password(&*store, user_id, hash, writer, write).await };
        let record = move |write: &Write, user: &User| {
            write.log_user(user);
            if user.username == ADMIN_USERNAME {
                initial.remove();
            }
        };
        Ok(write.run(set, record).await)
    }
}

/// Sets a password and revokes the tokens, after a slow write once more.
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
