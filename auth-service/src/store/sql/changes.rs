//! Makes the changes of users.
//!
//! `plan` derives the statements of a change, and the rows to lock, from the change and its principal: `users`,
//! `credentials` and `second_factor` contain the plans. `make_change` runs a plan in one transaction, which also records
//! the change.

mod credentials;
mod plan;
mod second_factor;
mod users;

use super::{
    additions::recent_additions, audit::pending_rows::record_written, revocation::GROW,
    sql_store::SqlStore, user_rows::RETURNING_USER,
};
use crate::{
    audit::Requested, change::Change, principal::Principal, store::WriteError, user::User,
};
use plan::Plan;
use rolegate_sql_store::FollowUp;
use std::sync::Arc;
use users::SET_ROLE;

impl SqlStore {
    /// Makes a change of a user, as [`UserStore::change_user`](crate::store::UserStore::change_user) describes it.
    pub(super) async fn make_change(
        &self,
        request: Arc<Requested<Change>>,
    ) -> Result<User, WriteError> {
        let Plan {
            guard,
            update,
            then,
            nothing_changed,
        } = self.plan(&request.by, &request.change);
        let (update, record) = match request.change {
            // This is one statement, because one more round trip while the admins are locked would cost a quarter of
            // the throughput.
            Change::SetRole { user_id, from, to } if self.database.is_postgres() => {
                let start = self.database.statement("WITH written AS (");
                let start = start.push(SET_ROLE).bind(user_id).bind(to.as_str());
                let entry = request.entry_for_role(user_id, from, to);
                let update = record_written(start.push(RETURNING_USER), &entry);
                (update, FollowUp::none())
            }
            _ => {
                let entries = Arc::clone(&request);
                (update, self.record(move |user| entries.entries(user), then))
            }
        };
        let actor = request.by.admin_id();
        let written = self.write_guarded(guard, actor, update, record).await;
        let changed = match (written, &request.change) {
            (Err(WriteError::Store(error)), Change::Rename { .. })
                if error.is_unique_violation() =>
            {
                return Err(WriteError::UsernameTaken);
            }
            (written, _) => written?.pop(),
        };
        if let (None, Change::BeginSecondFactor { user_id, .. }) = (&changed, &request.change) {
            recent_additions(&self.database, *user_id).await?.check(1)?;
        }
        changed.ok_or(nothing_changed)
    }

    fn plan(&self, by: &Principal, change: &Change) -> Plan {
        match change {
            Change::CreateUser(new) => self.create_user(by, new),
            Change::SetRole { user_id, to, .. } => self.set_role(*user_id, *to),
            Change::Rename { user_id, rename } => {
                self.update_user(*user_id, Some(rename), rename.disabled)
            }
            Change::SetDisabled { user_id, disabled } => {
                self.update_user(*user_id, None, Some(*disabled))
            }
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
