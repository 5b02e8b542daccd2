//! Makes the changes of users.
//!
//! `plan` derives the statements of a change, and the rows to lock, from the change and its principal. `users`,
//! `memberships`, `credentials` and `second_factor` contain the plans. `change_user` runs a plan in one transaction,
//! which also records the change.

mod credentials;
mod memberships;
mod plan;
mod second_factor;
mod users;

use super::{UserStore, additions::recent_additions, tokens::revocation::GROW};
use crate::{audit::Requested, change::Change, group::to_names, store::WriteError, user::User};
use plan::Plan;
use rolegate_sql_store::FollowUp;
use std::sync::Arc;

impl UserStore {
    /// Makes a change of a user under the condition of its principal, and records it in the same transaction. Returns
    /// the user as the change has left it; a deleted user as it was.
    ///
    /// - An admin must still be one; otherwise the write fails with [`WriteError::ActorNotFound`] or
    ///   [`WriteError::NotAdmin`], and a change of a password with [`WriteError::UserNotFound`]. It fails with
    ///   [`WriteError::LastAdmin`] if no enabled admin without an end would be left.
    /// - If the user does not exist, or no longer fits what the principal has verified, the write fails with
    ///   [`WriteError::UserNotFound`].
    /// - For a change by the operator, the user only has to exist.
    pub(crate) async fn change_user(
        &self,
        request: Arc<Requested<Change>>,
    ) -> Result<User, WriteError> {
        if !request.change.is_allowed_by(&request.by) {
            return Err(WriteError::UserNotFound);
        }
        let plan = self.plan(&request);
        let record = if plan.update_records_change {
            FollowUp::none()
        } else {
            let request = Arc::clone(&request);
            self.record(move |user| request.entries(user), plan.then)
        };
        let written = self
            .write_guarded(plan.guard, request.by.admin_id(), plan.update, record)
            .await;
        let changed = match (written, &request.change) {
            (Err(WriteError::Store(error)), Change::Update { .. })
                if error.is_unique_violation() =>
            {
                return Err(WriteError::UsernameTaken);
            }
            (written, _) => written?.pop(),
        };
        if changed.is_none() {
            self.check_more_conditions(&request.change).await?;
        }
        changed.ok_or(plan.nothing_changed)
    }

    /// Checks those conditions of a change that has changed nothing which have errors of their own.
    async fn check_more_conditions(&self, change: &Change) -> Result<(), WriteError> {
        match change {
            Change::BeginSecondFactor { user_id, .. } => {
                recent_additions(&self.database, *user_id).await?.check(1)
            }
            Change::SetMembership { group, .. } => {
                let found = self.existing_groups(&to_names(&[*group])).await?;
                if found.is_empty() {
                    return Err(WriteError::GroupNotFound);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn plan(&self, request: &Requested<Change>) -> Plan {
        let by = &request.by;
        match &request.change {
            Change::CreateUser(new) => self.create_user(by, new),
            Change::SetRole { user_id, from, to } => self.set_role(request, *user_id, *from, *to),
            Change::Update { user_id, update } => self.update_user(*user_id, update),
            Change::SetMembership {
                user_id, group, to, ..
            } => self.set_membership(*user_id, *group, *to),
            Change::RevokeTokens { user_id } => self.revoke_tokens(by, *user_id),
            Change::RevokeTokensAgain {
                user_id,
                tokens_not_before,
            } => self.revoke(by, *user_id, GROW, Some(*tokens_not_before)),
            Change::DeleteUser { user_id } => self.delete_user(*user_id),
            Change::SetPassword { user_id, hash } => self.set_password(by, *user_id, hash),
            Change::CreatePasswordLink { user_id, link } => self.create_link(*user_id, link),
            Change::BeginSecondFactor {
                user_id,
                secret,
                recovery_codes,
            } => self.begin_second_factor(by, *user_id, secret, recovery_codes),
            Change::TurnOnSecondFactor {
                user_id,
                secret,
                step,
            } => self.turn_on_second_factor(by, *user_id, secret, *step),
            Change::TurnOffSecondFactor { user_id } => self.turn_off_second_factor(*user_id),
        }
    }
}
