//! Checks the admin who makes a change, and refuses a change that would leave no active admin.

use super::write_error::WriteError;
use crate::user::User;
use rolegate_proto::Role;

/// The effect of a write on the number of active admins, who are the admins that are not disabled. At least one of them
/// must remain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCount {
    /// Every active admin remains an active admin.
    Kept,
    /// After the write, the user is not an active admin, because the write demotes, disables or deletes the user.
    Lowered,
}

/// Checks that `actor` is an active admin, that the user `user_id` exists, and that an active admin remains after the
/// write. Without an actor, the user or an operator makes the change, and only the existence of the user is checked.
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
    if actor.is_none() || admin_count == AdminCount::Kept || !user.is_active_admin() {
        return Ok(());
    }
    let other_stays = locked
        .iter()
        .any(|other| other.id != user_id && other.is_active_admin());
    if other_stays {
        Ok(())
    } else {
        Err(WriteError::LastAdmin)
    }
}
