//! The changes of users that auth-service reads from the record and sends to other services, such as posts-service.

use super::{checked_row::UnreadableColumn, seal::SealReference};
use crate::{audit::UserState, group::Membership};
use rolegate_proto::Role;
use rolegate_sql_store::{Row, TableRow};
use serde_json::Value;
use sqlx::{Error, error::BoxDynError};

/// The state of a user after a change, or in a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UserChange {
    /// The revision of the change; 0 in a snapshot.
    pub(crate) revision: i64,
    /// The seal of the batch that contains the revision; `None` in a snapshot.
    pub(crate) seal: Option<SealReference>,
    pub(crate) user_id: i64,
    pub(crate) username: String,
    pub(crate) role: Role,
    pub(crate) disabled: bool,
    pub(crate) deleted: bool,
    /// The time at which the user was created, in Unix seconds; 0 if the time is not known. It is `None` except for a
    /// deletion and in a snapshot, and also for a deletion that an older replica recorded.
    pub(crate) created_at: Option<u64>,
    /// The memberships of the user when the change was read, which may be later than the change.
    pub(crate) memberships: Vec<Membership>,
    /// When the account ends, in Unix seconds; `None` if it has no end. It is as of the read, too.
    pub(crate) until: Option<u64>,
}

/// A change in the record, or the reason why it cannot be read. The changes before an unreadable one can still be used.
#[derive(Debug)]
pub(crate) struct CheckedChange {
    pub(crate) revision: i64,
    pub(crate) content: Result<UserChange, UnreadableColumn>,
}

impl TableRow for CheckedChange {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            revision: row.get("revision")?,
            content: UserChange::from_row(row).map_err(UnreadableColumn::from),
        })
    }
}

impl TableRow for UserChange {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let event: String = row.get("event")?;
        let user_id: Option<i64> = row.get("user_id")?;
        let username: Option<String> = row.get("username")?;
        let state: Option<String> = row.get("state")?;
        let details: String = row.get("details")?;
        let seal: Option<String> = row.get("seal")?;
        let memberships: Option<String> = row.get("groups")?;
        let details: Value =
            serde_json::from_str(&details).map_err(|error| malformed("details", error))?;
        let user_id = user_id.ok_or_else(|| malformed("user_id", "it is null"))?;
        let state: UserState = state
            .unwrap_or_default()
            .parse()
            .map_err(|_| malformed("state", "it has no role"))?;
        Ok(Self {
            revision: row.get("revision")?,
            seal: seal.and_then(|seal| seal.parse().ok()),
            user_id,
            // An erasure may have removed the name from the row.
            username: username.unwrap_or_default(),
            role: state.role,
            disabled: state.disabled,
            deleted: event == "user_deleted",
            created_at: details["user_created_at"].as_u64(),
            memberships: Membership::parse_list(memberships.as_deref())?,
            until: row.optional_seconds("until")?,
        })
    }
}

fn malformed(column: &str, problem: impl Into<BoxDynError>) -> Error {
    Error::ColumnDecode {
        index: column.to_owned(),
        source: problem.into(),
    }
}
