//! Checks the actor of a write about another user, and keeps the last active admin.

use super::write_error::WriteError;
use crate::user::User;
use rolegate_proto::Role;

/// Says whether a write lowers the number of admins who are not disabled. At least one of them must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCount {
    /// Every active admin remains one.
    Kept,
    /// The user is not an active admin afterwards: the write demotes, disables or deletes the user.
    Lowered,
}

/// Checks that `actor` may write about the user `user_id`. Without an actor, the user or an operator writes. `locked`
/// contains the rows of the user, of the actor and of all active admins.
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
    // An operator has no actor, and may remove even the last admin.
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
