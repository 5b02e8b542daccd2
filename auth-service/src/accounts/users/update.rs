//! Renames, disables and enables users for admins. The command `user rename` of operators uses the
//! same renaming.

use super::Users;
use crate::{
    accounts::{
        changes::Changes,
        error::AccountError,
        username::{ADMIN_USERNAME, check_new_username},
    },
    actor::Actor,
    change::{Change, Rename},
    former_username::FormerUsername,
    principal::Principal,
    user::User,
};
use rolegate_proto::Reason;
use std::time::Duration;

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

impl Users {
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
        let actor = self.authorizer.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let UserUpdateRequest { username, disabled } = request;
        let Some(username) = username else {
            let nothing = AccountError::invalid_request("username or disabled must be set");
            return self
                .set_disabled(actor, user_id, disabled.ok_or(nothing)?)
                .await;
        };
        for _ in 0..MAX_RENAME_ATTEMPTS {
            let user = self.authorizer.find_user(user_id).await?;
            if user.username == username {
                return match disabled {
                    Some(disabled) => self.set_disabled(actor, user_id, disabled).await,
                    None => Ok(user),
                };
            }
            let by = Principal::Admin(actor.clone());
            match rename(&self.changes, by, &user, username, disabled).await {
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
        let change = Change::SetDisabled { user_id, disabled };
        Ok(self.changes.apply(Principal::Admin(actor), change).await?)
    }
}

/// Renames the user, and can disable or enable the user in the same transaction. Fails with
/// [`Reason::UserNotFound`] if the user has changed since `user` was read.
pub(crate) async fn rename(
    changes: &Changes,
    by: Principal,
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
    let rename = Rename {
        from,
        to: to.to_owned(),
        tokens_not_before: user.tokens_not_before,
        disabled,
    };
    let user_id = user.id;
    let change = Change::Rename { user_id, rename };
    Ok(changes.apply(by, change).await?)
}
