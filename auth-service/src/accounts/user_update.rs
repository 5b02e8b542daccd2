//! Renames, disables and enables users for admins. The command `user rename` of operators uses the
//! same renaming.

use super::{
    error::AccountError, seed::ADMIN_USERNAME, service::Accounts, username::check_new_username,
};
use crate::{
    actor::Actor,
    audit::{Change, FormerUsername, Initiator, Write},
    store::{Rename, UserStore, UserUpdate},
    user::User,
};
use rolegate_proto::Reason;
use std::{sync::Arc, time::Duration};

/// The maximum number of attempts to rename a user. An attempt fails if another change of the user
/// comes between its read and its write.
const MAX_RENAME_ATTEMPTS: usize = 5;

/// The changes of a user that an admin requests; at least one must be given.
#[derive(Clone, Copy)]
pub(crate) struct UserUpdateRequest<'a> {
    /// The new username; `None` to keep the current one.
    pub(crate) username: Option<&'a str>,
    /// Disables the user if true, and enables the user if false.
    pub(crate) disabled: Option<bool>,
}

impl Accounts {
    /// Renames a user, disables or enables the user, or does both in one transaction. Returns the
    /// user; the actor must be an admin.
    ///
    /// If the new name is the current one, the user is not renamed.
    pub(crate) async fn update_user(
        &self,
        credential: &str,
        user_id: i64,
        request: UserUpdateRequest<'_>,
    ) -> Result<User, AccountError> {
        let actor = self.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let UserUpdateRequest { username, disabled } = request;
        let Some(username) = username else {
            let nothing = AccountError::invalid_request("username or disabled must be set");
            return self
                .set_disabled(actor, user_id, disabled.ok_or(nothing)?)
                .await;
        };
        for _ in 0..MAX_RENAME_ATTEMPTS {
            let user = self.find_user(user_id).await?;
            if user.username == username {
                return match disabled {
                    Some(disabled) => self.set_disabled(actor, user_id, disabled).await,
                    None => Ok(user),
                };
            }
            let by = Initiator::Actor(actor.clone());
            match rename(&self.store, by, &user, username, disabled).await {
                Err(AccountError::Refused(Reason::UserNotFound)) => {}
                outcome => return outcome,
            }
        }
        Err(AccountError::overloaded(Duration::from_secs(1)))
    }

    /// Disables or enables a user. Every request reads the user, so from the next request on, every
    /// credential of a disabled user is refused.
    ///
    /// Enabling a user does not make revoked tokens valid again, because a thief may still have
    /// one.
    async fn set_disabled(
        &self,
        actor: Actor,
        user_id: i64,
        disabled: bool,
    ) -> Result<User, AccountError> {
        let admin = Some(actor.user.id);
        let write = Write::by_actor(actor, Change::set_disabled(disabled), user_id);
        Ok(self
            .change_user(write, move |store, write| async move {
                store.set_disabled(admin, user_id, disabled, write).await
            })
            .await?)
    }
}

/// Renames the user, and can disable or enable the user in the same transaction. Fails with
/// [`Reason::UserNotFound`] if the user has changed since `user` was read.
pub(crate) async fn rename(
    store: &Arc<dyn UserStore>,
    by: Initiator,
    user: &User,
    to: &str,
    disabled: Option<bool>,
) -> Result<User, AccountError> {
    check_new_username(to)?;
    // The user `admin` keeps this name, because otherwise the next start would create another
    // `admin` with the initial password.
    if user.username == ADMIN_USERNAME {
        return Err(Reason::UserNotRenamable.into());
    }
    // No other user may take the name `admin`. A new user with this name is refused, too.
    if to == ADMIN_USERNAME {
        return Err(Reason::UsernameTaken.into());
    }
    let from = FormerUsername::new(user.username.clone()).map_err(AccountError::internal)?;
    let admin = match &by {
        Initiator::Actor(actor) => Some(actor.user.id),
        _ => None,
    };
    let update = UserUpdate {
        rename: Some(Rename {
            from: user.username.clone(),
            to: to.to_owned(),
            tokens_not_before: user.tokens_not_before,
        }),
        disabled,
    };
    let id = user.id;
    let write = Write::new(Change::UserRenamed { from }, by, Some(id))
        .with_second(disabled.map(Change::set_disabled));
    Ok(write
        .run(
            store,
            move |store, write| async move { store.update(admin, id, update, write).await },
            Write::log_user,
        )
        .await?)
}
