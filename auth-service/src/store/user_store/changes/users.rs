//! Plans that create, update and delete users, and change their roles.

use super::plan::Plan;
use crate::{
    audit::Requested,
    change::{Change, NewUser, UserUpdate},
    principal::Principal,
    store::{
        WriteError,
        locked_rows::AdminCount,
        user_store::{
            UserStore,
            audit::pending_rows::record_written,
            encoding::encode_seconds,
            locked_writes::Guard,
            tokens::revocation::{REVOKE, push_revocation_times},
        },
    },
};
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;

impl UserStore {
    pub(super) fn create_user(&self, by: &Principal, new: &NewUser) -> Plan {
        let guard = by.admin_id().map_or(Guard::Nothing, Guard::Creator);
        let insert = self
            .database
            .statement(
                r#"INSERT INTO "user" (username, password, role, created_at) VALUES ($1, $2, $3, $NOW)
                ON CONFLICT (username) DO NOTHING"#,
            )
            .bind(&*new.username)
            .bind(new.password_hash.expose_secret())
            .bind(new.role.as_str());
        let link = new.link.clone();
        let link = link.map(|link| self.insert_link_of_new_user(&new.username, link));
        Plan {
            nothing_changed: WriteError::UsernameTaken,
            ..Plan::new(guard, insert).then(link)
        }
    }

    pub(super) fn set_role(
        &self,
        request: &Requested<Change>,
        user_id: i64,
        from: Role,
        to: Role,
    ) -> Plan {
        let admin_count = if to == Role::ADMIN {
            AdminCount::Kept
        } else {
            AdminCount::Lowered
        };
        let is_postgres = self.database.is_postgres();
        let update = self
            .database
            .statement(if is_postgres { "WITH written AS (" } else { "" })
            .push(r#"UPDATE "user" SET role = $2 WHERE id = $1"#)
            .bind(user_id)
            .bind(to.as_str());
        let mut plan = Plan::new(Guard::Admins(user_id, admin_count), update);
        if is_postgres {
            // This is one statement, because one more round trip while the admins are locked would cost a quarter of
            // the throughput.
            let entry = request.entry_for_role(user_id, from, to);
            plan.update = record_written(plan.update, &entry);
            plan.update_records_change = true;
        }
        plan
    }

    pub(super) fn update_user(&self, user_id: i64, update: &UserUpdate) -> Plan {
        let UserUpdate {
            rename,
            disabled,
            end,
        } = update;
        let disables = *disabled == Some(true);
        let ends_access = disables || end.is_some_and(|end| end.has_passed);
        let mut update = self
            .database
            .statement(r#"UPDATE "user" SET disabled = coalesce($2, disabled)"#)
            .bind(user_id)
            .bind(*disabled);
        if let Some(rename) = rename {
            update = update.push(", username = ").push_bind(&*rename.to);
        }
        if let Some(end) = end {
            update = update
                .push(", until = ")
                .push_bind(end.to.map(encode_seconds));
        }
        if ends_access || rename.is_some() {
            update = push_revocation_times(update.push(", ").push(REVOKE));
        }
        update = update.push(" WHERE id = $1");
        if let Some(rename) = rename {
            update = update
                .push(" AND username = ")
                .push_bind(&*rename.from.name)
                .push(" AND tokens_not_before = ")
                .push_bind(encode_seconds(rename.tokens_not_before));
        }
        if let Some(end) = end {
            update = update
                .push(" AND until IS NOT DISTINCT FROM ")
                .push_bind(end.from.map(encode_seconds));
            if !end.has_passed {
                update = update.push(r#" AND ("user".until IS NULL OR "user".until > $NOW)"#);
            }
        }
        let admin_count = if disables || end.is_some_and(|end| end.to.is_some()) {
            AdminCount::Lowered
        } else {
            AdminCount::Kept
        };
        let mut plan = Plan::new(Guard::Admins(user_id, admin_count), update);
        if ends_access {
            plan = plan.then([self.end_sessions(user_id), self.end_link(user_id)]);
        }
        if let Some(rename) = rename {
            plan = plan.then([
                self.continue_sessions(user_id, rename.tokens_not_before),
                self.rename_key_creator(user_id, rename),
            ]);
        }
        plan
    }

    pub(super) fn delete_user(&self, user_id: i64) -> Plan {
        let delete = self
            .database
            .statement(r#"DELETE FROM "user" WHERE id = $1"#)
            .bind(user_id);
        Plan::new(Guard::Admins(user_id, AdminCount::Lowered), delete)
    }
}
