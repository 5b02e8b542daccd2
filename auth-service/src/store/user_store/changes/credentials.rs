//! Plans that revoke the credentials of a user, set the password or create a password link.

use super::plan::Plan;
use crate::{
    principal::Principal,
    store::{
        locked_rows::AdminCount,
        user_store::{
            UserStore,
            encoding::encode_seconds,
            locked_writes::Guard,
            tokens::ending::push_session_exists,
            tokens::revocation::{GROW, LOWER, REVOKE, push_revocation_times},
            user_rows::{IS_ACTIVE, push_admin_condition},
            users::{HASH_PREFIX, SET_PASSWORD},
        },
    },
    tokens::NewPasswordLink,
};
use rolegate_sql_store::Statement;
use secrecy::{ExposeSecret as _, SecretString};

/// Locks the row of a user without changing a value, so that other statements can follow in the transaction. More
/// conditions and a `RETURNING` are appended.
pub(super) const TOUCH: &str = r#"UPDATE "user" SET disabled = disabled WHERE id = $1"#;

impl UserStore {
    pub(super) fn revoke_tokens(&self, by: &Principal, user_id: i64) -> Plan {
        let expected = by.expected_tokens_not_before();
        match by {
            Principal::Admin(_) => Plan {
                guard: Guard::Admins(user_id, AdminCount::Kept),
                ..self.revoke(by, user_id, REVOKE, expected)
            },
            Principal::Operator => self.revoke(by, user_id, LOWER, expected),
            // The credential of others was issued at the stored value or later, so only a greater value revokes it.
            _ => self.revoke(by, user_id, GROW, expected),
        }
    }

    pub(super) fn revoke(
        &self,
        by: &Principal,
        user_id: i64,
        revocation: &'static str,
        expected_tokens_not_before: Option<u64>,
    ) -> Plan {
        let update = self
            .database
            .statement(r#"UPDATE "user" SET "#)
            .push(revocation)
            .bind(user_id)
            .bind(expected_tokens_not_before.map(encode_seconds));
        let update = push_revocation_times(update)
            .push(" WHERE id = $1 AND ($2 IS NULL OR tokens_not_before = $2)");
        Plan::new(Guard::Nothing, update).then(self.end_other_sessions(user_id, by))
    }

    pub(super) fn set_password(&self, by: &Principal, user_id: i64, hash: &SecretString) -> Plan {
        let update = self
            .database
            .statement(SET_PASSWORD)
            .push(HASH_PREFIX)
            .push("$2, ")
            // `tokens_not_before` always grows, because it also identifies the version of the password.
            .push(GROW)
            .bind(user_id)
            .bind(hash.expose_secret());
        let update = push_revocation_times(update).push(" WHERE id = $1");
        // The lock lets the second of two simultaneous uses of a link find it used.
        let guard = match by {
            Principal::Link { .. } => Guard::User(user_id),
            _ => Guard::Nothing,
        };
        Plan::new(guard, push_password_condition(update, by))
            .then(self.end_other_sessions(user_id, by))
            .then([self.end_link(user_id)])
    }

    pub(super) fn create_link(&self, user_id: i64, link: &NewPasswordLink) -> Plan {
        let touch = self.database.statement(TOUCH).bind(user_id);
        Plan::new(Guard::Admins(user_id, AdminCount::Kept), touch)
            .then([self.replace_link(user_id, link.clone())])
    }
}

/// Appends the condition of the principal to the update of a password.
fn push_password_condition(update: Statement, by: &Principal) -> Statement {
    match by {
        Principal::Owner(actor) => {
            let update = update
                .push(" AND ")
                .push(IS_ACTIVE)
                .push(" AND tokens_not_before = ")
                .push_bind(encode_seconds(actor.user.tokens_not_before));
            push_session_exists(update, by)
        }
        Principal::Admin(actor) => push_admin_condition(update, actor.user.id),
        Principal::Link { digest } => update
            .push(" AND ")
            .push(IS_ACTIVE)
            .push(r#" AND EXISTS (SELECT 1 FROM password_link WHERE user_id = "user".id AND digest = "#)
            .push_bind(digest.as_str())
            .push(" AND expires_at > $NOW)"),
        _ => update,
    }
}
