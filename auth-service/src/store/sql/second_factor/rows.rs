//! Decodes second factors and password links from the rows that statements return.

use super::code_limits::LimitColumns;
use crate::{
    store::{
        CodeLimit, CodePurpose, StoredPasswordLink, StoredSecondFactor, WrongCodes,
        sql::encoding::decode_seconds,
    },
    user::User,
};
use rolegate_sql_store::{Row, TableRow};

pub(super) const SELECT_SECOND_FACTOR: &str = "SELECT secret, last_step, wrong_codes, wrong_since,
            wrong_recovery_codes, wrong_recovery_since,
            wrong_confirmations, wrong_confirmations_since,
            wrong_recovery_confirmations, wrong_recovery_confirmations_since,
            (SELECT count(*) FROM recovery_code WHERE user_id = $1) AS recovery_codes
            FROM second_factor WHERE user_id = $1";

impl TableRow for StoredSecondFactor {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            secret: row.get("secret")?,
            last_step: row.get("last_step")?,
            at_sign_in: wrong_codes(row, CodeLimit::OneTime(CodePurpose::SignIn))?,
            recovery_at_sign_in: wrong_codes(row, CodeLimit::Recovery(CodePurpose::SignIn))?,
            at_confirmation: wrong_codes(row, CodeLimit::OneTime(CodePurpose::Confirmation))?,
            recovery_at_confirmation: wrong_codes(
                row,
                CodeLimit::Recovery(CodePurpose::Confirmation),
            )?,
            recovery_codes: row.get("recovery_codes")?,
        })
    }
}

fn wrong_codes(row: Row<'_>, limit: CodeLimit) -> sqlx::Result<WrongCodes> {
    let columns = LimitColumns::new(limit);
    Ok(WrongCodes {
        count: row.get(columns.count)?,
        since: row.get(columns.since)?,
    })
}

impl TableRow for StoredPasswordLink {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: decode_seconds(row.get("expires_at")?)?,
        })
    }
}
