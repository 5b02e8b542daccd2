//! Decodes second factors from the rows that statements return.

use super::code_limits::LimitColumns;
use crate::store::{CodeLimit, StoredSecondFactor, WrongCodes};
use rolegate_sql_store::{Row, TableRow};
use std::collections::BTreeMap;

pub(super) const SELECT_SECOND_FACTOR: &str = "SELECT secret, last_step, wrong_codes, wrong_since,
            wrong_recovery_codes, wrong_recovery_since,
            wrong_confirmations, wrong_confirmations_since,
            wrong_recovery_confirmations, wrong_recovery_confirmations_since,
            (SELECT count(*) FROM recovery_code WHERE user_id = $1) AS recovery_codes
            FROM second_factor WHERE user_id = $1";

impl TableRow for StoredSecondFactor {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let mut wrong_codes = BTreeMap::new();
        for limit in CodeLimit::ALL {
            let columns = LimitColumns::new(limit);
            let wrong = WrongCodes {
                count: row.get(columns.count)?,
                since: row.get(columns.since)?,
            };
            wrong_codes.insert(limit, wrong);
        }
        Ok(Self {
            secret: row.get("secret")?,
            last_step: row.get("last_step")?,
            wrong_codes,
            recovery_codes: row.get("recovery_codes")?,
        })
    }
}
