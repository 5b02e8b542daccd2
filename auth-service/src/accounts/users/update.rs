//! Renames, disables and enables users for admins, and sets the ends of their accounts. The commands
//! `user rename` and `user set-until` of operators use parts of it.

use super::Users;
use crate::{
    accounts::{
        access_end::RequestedEnd,
        changes::Changes,
        error::AccountError,
        username::{ADMIN_USERNAME, check_new_username},
    },
    change::{Change, NewEnd, Rename, UserUpdate},
    former_username::FormerUsername,
    principal::Principal,
    store::WriteError,
    user::User,
};
use rolegate_proto::Reason;
use std::time::Duration;

/// The maximum number of attempts to update a user. An attempt fails if another change of the user
/// comes between its read and its write.
const MAX_UPDATE_ATTEMPTS: usize = 5;

/// The changes of a user that an admin requests; at least one must be given.
#[derive(Clone, Copy)]
pub(crate) struct UserUpdateRequest<'a> {
    /// The new username; `None` to keep the current one.
    pub(crate) username: Option<&'a str>,
    /// Disables the user if true, and enables the user if false.
    pub(crate) disabled: Option<bool>,
    /// The new end of the account; `None` to keep it.
    pub(crate) end: Option<RequestedEnd>,
}

impl Users {
    /// Renames a user, disables or enables the user, and sets the end of the account, in one
    /// transaction. Returns the user; the actor must be an admin.
    ///
    /// If the new name is the current one, the user is not renamed. Every request reads the user, so
    /// from the next request on, every credential of a disabled user is refused. Enabling a user does
    /// not make revoked tokens valid again, because a thief may still have one.
    pub(crate) async fn update_user(
        &self,
        credential: &str,
        user_id: i64,
        request: UserUpdateRequest<'_>,
    ) -> Result<User, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let UserUpdateRequest {
            username,
            disabled,
            end,
        } = request;
        if username.is_none() && disabled.is_none() && end.is_none() {
            let rule = "username, disabled or the end must be set";
            return Err(AccountError::invalid_request(rule));
        }
        for _ in 0..MAX_UPDATE_ATTEMPTS {
            let found = self.reads.users.get(user_id).await?;
            let user = found.value.ok_or(Reason::UserNotFound)?;
            let new_name = username.filter(|username| *username != user.username);
            let update = UserUpdate {
                rename: new_name.map(|to| check_rename(&user, to)).transpose()?,
                disabled,
                end: end
                    .map(|end| new_end(&user, end, found.at))
                    .transpose()?
                    .filter(|end| end.from != end.to),
            };
            if update.is_empty() {
                return Ok(user);
            }
            let change = Change::Update { user_id, update };
            let by = Principal::Admin(actor.clone());
            match self.changes.apply(by, change).await {
                Err(WriteError::UserNotFound) => {}
                outcome => return Ok(outcome?),
            }
        }
        Err(AccountError::overloaded(Duration::from_secs(1)))
    }
}

/// Returns the new end of the account of this user. `now` is in Unix seconds.
pub(crate) fn new_end(user: &User, to: RequestedEnd, now: u64) -> Result<NewEnd, AccountError> {
    Ok(NewEnd {
        from: user.until,
        has_passed: user.until.is_some_and(|end| end <= now),
        to: to.check(now)?,
    })
}

/// Renames the user. Fails with [`Reason::UserNotFound`] if the user has changed since `user` was read.
pub(crate) async fn rename(
    changes: &Changes,
    by: Principal,
    user: &User,
    to: &str,
) -> Result<User, AccountError> {
    let update = UserUpdate {
        rename: Some(check_rename(user, to)?),
        ..UserUpdate::default()
    };
    let user_id = user.id;
    Ok(changes
        .apply(by, Change::Update { user_id, update })
        .await?)
}

/// Checks that this user may get the name `to`.
fn check_rename(user: &User, to: &str) -> Result<Rename, AccountError> {
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
    Ok(Rename {
        from,
        to: to.to_owned(),
        tokens_not_before: user.tokens_not_before,
    })
}
