//! Checks that only admins write about others, and that the last admin stays one.

use super::write_error::WriteError;
use crate::user::User;
use rolegate_proto::Role;

/// What a write does to the number of admins who are not disabled, of whom one must stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AdminCount {
    /// The write leaves an admin what they are.
    Kept,
    /// An admin is none afterwards.
    Lowered,
}

/// Checks whether `actor` may write about the user `user_id`; without an actor, the user or an operator writes.
/// `locked` has the rows of the user, of the actor and of all admins.
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
    // Without an actor, it is an operator who takes an admin away, and who may do that to the last one too.
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
