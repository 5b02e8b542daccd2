//! Checks conditions of a change by the rows that its transaction has locked: whether an admin makes it, whether a
//! lasting admin remains, and whether a token may be inserted.

use super::write_error::WriteError;
use crate::{
    principal::Principal,
    user::{Credentials, User},
};
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;

/// The effect of a write on the number of lasting admins, who are the enabled admins without an end. At least one of
/// them must remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCount {
    /// Every lasting admin remains one.
    Kept,
    /// After the write, the user is not a lasting admin, because the write demotes, disables or deletes the user, or
    /// sets the end of the account.
    Lowered,
}

/// Checks that the user with the id `actor` is an active admin, that the user `user_id` exists, and that a lasting admin
/// remains after the write. Without an actor, the user or an operator makes the change, and only the existence of the
/// user is checked.
///
/// `locked` must contain the rows of the user and of the actor. If `admin_count` is [`AdminCount::Lowered`], it must
/// also contain the rows of all active admins.
pub(super) fn require_admin(
    locked: &[User],
    actor: Option<i64>,
    user_id: i64,
    admin_count: AdminCount,
) -> Result<(), WriteError> {
    let find = |id| locked.iter().find(|user| user.id == id);
    if let Some(actor) = actor {
        match find(actor) {
            Some(actor) if !actor.disabled && actor.role == Role::ADMIN => {}
            Some(actor) if !actor.disabled => return Err(WriteError::NotAdmin),
            _ => return Err(WriteError::ActorNotFound),
        }
    }
    let user = find(user_id).ok_or(WriteError::UserNotFound)?;
    // A change by an operator has no actor, and may remove even the last admin.
    if actor.is_none() || admin_count == AdminCount::Kept || !user.is_lasting_admin() {
        return Ok(());
    }
    let other_stays = locked
        .iter()
        .any(|other| other.id != user_id && other.is_lasting_admin());
    if other_stays {
        Ok(())
    } else {
        Err(WriteError::LastAdmin)
    }
}

/// Checks the condition of the principal before a token of this user is inserted. `locked` contains the row of the
/// user, and that of an admin who makes the change.
pub(super) fn check_new_token(
    by: &Principal,
    locked: &[Credentials],
    user_id: i64,
) -> Result<(), WriteError> {
    let row = locked
        .iter()
        .find(|row| row.user.id == user_id)
        .ok_or(WriteError::UserNotFound)?;
    if let Some(admin_id) = by.admin_id() {
        let users: Vec<User> = locked.iter().map(|row| row.user.clone()).collect();
        require_admin(&users, Some(admin_id), user_id, AdminCount::Kept)?;
        // Admins cannot make keys for other admins.
        return if row.user.role == Role::ADMIN {
            Err(WriteError::UserIsAdmin)
        } else {
            Ok(())
        };
    }
    let has_changed = by
        .expected_tokens_not_before()
        .is_some_and(|expected| expected != row.user.tokens_not_before);
    let has_new_password = match by {
        Principal::Login { password_hash, .. } => {
            password_hash.expose_secret() != row.password_hash.expose_secret()
        }
        _ => false,
    };
    if has_changed || has_new_password || row.user.disabled {
        return Err(WriteError::UserNotFound);
    }
    Ok(())
}
