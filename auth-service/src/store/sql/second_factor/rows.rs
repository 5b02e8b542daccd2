//! Second factors and password links, as the rows of statements have them.

use crate::{
    store::{StoredPasswordLink, StoredSecondFactor, WrongCodes, sql::encoding::decode_seconds},
    user::User,
};
use sqlx::{FromRow, Row};

pub(super) const SELECT_SECOND_FACTOR: &str = "SELECT secret, last_step, wrong_codes, wrong_since,
            wrong_recovery_codes, wrong_recovery_since,
            wrong_confirmations, wrong_confirmations_since,
            wrong_recovery_confirmations, wrong_recovery_confirmations_since,
            (SELECT count(*) FROM recovery_code WHERE user_id = $1) AS recovery_codes
            FROM second_factor WHERE user_id = $1";

rolegate_sql_store::row! {
    /// A row of [`SELECT_SECOND_FACTOR`].
    struct SecondFactorRow {
        secret: String,
        last_step: i64,
        wrong_codes: i64,
        wrong_since: i64,
        wrong_recovery_codes: i64,
        wrong_recovery_since: i64,
        wrong_confirmations: i64,
        wrong_confirmations_since: i64,
        wrong_recovery_confirmations: i64,
        wrong_recovery_confirmations_since: i64,
        recovery_codes: i64,
    }
}

impl<'r, R: Row> FromRow<'r, R> for StoredSecondFactor
where
    SecondFactorRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let row = SecondFactorRow::from_row(row)?;
        Ok(Self {
            secret: row.secret,
            last_step: row.last_step,
            at_sign_in: WrongCodes {
                count: row.wrong_codes,
                since: row.wrong_since,
            },
            recovery_at_sign_in: WrongCodes {
                count: row.wrong_recovery_codes,
                since: row.wrong_recovery_since,
            },
            at_confirmation: WrongCodes {
                count: row.wrong_confirmations,
                since: row.wrong_confirmations_since,
            },
            recovery_at_confirmation: WrongCodes {
                count: row.wrong_recovery_confirmations,
                since: row.wrong_recovery_confirmations_since,
            },
            recovery_codes: row.recovery_codes,
        })
    }
}

rolegate_sql_store::row! {
    /// What a password link has beside the user.
    struct LinkRow {
        expires_at: i64,
    }
}

impl<'r, R: Row> FromRow<'r, R> for StoredPasswordLink
where
    User: FromRow<'r, R>,
    LinkRow: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let link = LinkRow::from_row(row)?;
        Ok(Self {
            user: User::from_row(row)?,
            expires_at: decode_seconds(link.expires_at)?,
        })
    }
}
