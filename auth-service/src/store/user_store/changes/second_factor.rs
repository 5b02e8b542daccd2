//! Plans that enroll a user in a second factor, and turn it on or off.

use super::{credentials::TOUCH, plan::Plan};
use crate::{
    principal::Principal,
    store::{
        WriteError,
        locked_rows::AdminCount,
        user_store::{
            UserStore,
            additions::push_has_room,
            encoding::encode_seconds,
            locked_writes::Guard,
            tokens::ending::push_session_exists,
            tokens::revocation::{GROW, push_revocation_times},
        },
    },
    user::is_disabled,
};
use rolegate_sql_store::row;
use serde::Serialize;

/// The condition that the user is unchanged since the read: the second factor was not turned on, the tokens were not
/// revoked, and the account has not ended.
const UNCHANGED: &str = concat!(
    " AND NOT second_factor AND tokens_not_before = $2 AND NOT ",
    is_disabled!()
);

const BEGIN: &str = "INSERT INTO second_factor (user_id, secret) VALUES ($1, $2)
            ON CONFLICT (user_id) DO UPDATE SET secret = excluded.secret, last_step = 0";

const TURN_OFF: &str = r#"UPDATE "user" SET second_factor = FALSE,
            password = CASE WHEN password LIKE 'otp:%' THEN substr(password, 5) ELSE password END
            WHERE id = $1 AND second_factor"#;

const DELETE_SECOND_FACTOR: &str = "DELETE FROM second_factor WHERE user_id = $1";
const DELETE_RECOVERY_CODES: &str = "DELETE FROM recovery_code WHERE user_id = $1";

row! {
    /// A recovery code, as a row to insert.
    #[derive(Serialize)]
    struct NewRecoveryCode {
        digest: String,
    }
}

impl UserStore {
    pub(super) fn begin_second_factor(
        &self,
        by: &Principal,
        user_id: i64,
        secret: &str,
        recovery_codes: &[String],
    ) -> Plan {
        let codes: Vec<_> = recovery_codes
            .iter()
            .map(|digest| NewRecoveryCode {
                digest: digest.clone(),
            })
            .collect();
        let touch = self
            .database
            .statement(TOUCH)
            .push(UNCHANGED)
            .bind(user_id)
            .bind(by.expected_tokens_not_before().map(encode_seconds))
            .push(" AND ");
        Plan::new(Guard::User(user_id), push_has_room(touch, user_id, 1)).then([
            self.database.statement(BEGIN).bind(user_id).bind(secret),
            self.database.statement(DELETE_RECOVERY_CODES).bind(user_id),
            self.database
                .statement("INSERT INTO recovery_code (user_id, digest) SELECT $1, digest")
                .bind(user_id)
                .push_rows(&codes),
            self.count_addition(user_id),
        ])
    }

    pub(super) fn turn_on_second_factor(
        &self,
        by: &Principal,
        user_id: i64,
        secret: &str,
        step: i64,
    ) -> Plan {
        let set = self
            .database
            .statement(r#"UPDATE "user" SET second_factor = TRUE, password = 'otp:' || password, "#)
            .push(GROW)
            .bind(user_id)
            .bind(by.expected_tokens_not_before().map(encode_seconds));
        // If the secret was replaced meanwhile, it differs from the one that the code was checked with.
        let update = push_revocation_times(set)
            .push(" WHERE id = $1")
            .push(UNCHANGED);
        let update = push_session_exists(update, by)
            .push(" AND EXISTS (SELECT 1 FROM second_factor AS f WHERE user_id = $1 AND secret = ")
            .push_bind(secret)
            .push(")");
        let use_step = self
            .database
            .statement("UPDATE second_factor SET last_step = $2 WHERE user_id = $1")
            .bind(user_id)
            .bind(step);
        Plan::new(Guard::User(user_id), update)
            .then([use_step, self.count_addition(user_id)])
            .then(self.end_other_sessions(user_id, by))
    }

    pub(super) fn turn_off_second_factor(&self, user_id: i64) -> Plan {
        let statement = |sql| self.database.statement(sql).bind(user_id);
        let guard = Guard::Admins(user_id, AdminCount::Kept);
        Plan {
            nothing_changed: WriteError::SecondFactorOff,
            ..Plan::new(guard, statement(TURN_OFF)).then([
                statement(DELETE_SECOND_FACTOR),
                statement(DELETE_RECOVERY_CODES),
            ])
        }
    }
}
