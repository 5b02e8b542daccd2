//! Rows of the record, and the changes of users that they show.

use super::pending_rows::DISABLED;
use crate::store::{AuditRow, CheckedChange, Seal, UnreadableColumn, UserChange};
use rolegate_proto::Role;
use serde_json::Value;
use sqlx::{Error, FromRow, Row, error::BoxDynError};

pub(in crate::store) const AUDIT_COLUMNS: &str =
    "revision, id, at, event, user_id, username, actor_id, actor, actor_key,
    actor_session, client_address, request_id, details, state, former_username,
    commitments";

type Text = Option<String>;
type Number = Option<i64>;

/// A row of [`AUDIT_COLUMNS`].
type Columns = (
    i64,
    i64,
    i64,
    String,
    Number,
    Text,
    Number,
    Text,
    Number,
    Number,
    Text,
    Text,
    String,
    Text,
    Text,
    String,
);

impl<'r, R: Row> FromRow<'r, R> for AuditRow
where
    Columns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (
            revision,
            id,
            at,
            event,
            user_id,
            username,
            actor_id,
            actor,
            actor_key,
            actor_session,
            ..,
        ) = Columns::from_row(row)?;
        let (.., client_address, request_id, details, state, former_username, commitments) =
            Columns::from_row(row)?;
        Ok(Self {
            revision,
            id,
            at,
            event,
            user_id,
            username,
            actor_id,
            actor,
            actor_key,
            actor_session,
            client_address,
            request_id,
            details,
            state,
            former_username,
            commitments,
        })
    }
}

/// The columns of a change, as they are decoded by position.
const CHANGE_COLUMNS: &str = "revision, event, user_id, username, state, details, seal";

/// A row of [`CHANGE_COLUMNS`].
type ChangeColumns = (i64, String, Number, Text, Text, String, Text);

impl<'r, R: Row> FromRow<'r, R> for CheckedChange
where
    UserChange: FromRow<'r, R>,
    (i64,): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision,) = FromRow::from_row(row)?;
        let content = UserChange::from_row(row);
        Ok(Self {
            revision,
            content: content.map_err(|error| UnreadableColumn::new(error, CHANGE_COLUMNS)),
        })
    }
}

impl<'r, R: Row> FromRow<'r, R> for UserChange
where
    ChangeColumns: FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, event, user_id, username, state, details, seal) =
            ChangeColumns::from_row(row)?;
        let state = state.unwrap_or_default();
        let (role, disabled) = state
            .strip_suffix(DISABLED)
            .map_or((&*state, false), |role| (role, true));
        let details: Value =
            serde_json::from_str(&details).map_err(|error| malformed("details", error))?;
        Ok(Self {
            revision,
            seal: seal.and_then(|seal| seal.parse().ok()),
            user_id: user_id.ok_or_else(|| malformed("user_id", "it is null"))?,
            // The name may have been erased since.
            username: username.unwrap_or_default(),
            role: role
                .parse::<Role>()
                .map_err(|_| malformed("state", "it has no role"))?,
            disabled,
            deleted: event == "user_deleted",
            created_at: details["user_created_at"].as_u64(),
        })
    }
}

fn malformed(column: &str, problem: impl Into<BoxDynError>) -> Error {
    Error::ColumnDecode {
        index: column.to_owned(),
        source: problem.into(),
    }
}

impl<'r, R: Row> FromRow<'r, R> for Seal
where
    (i64, i64, String): FromRow<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        let (revision, at, digest) = FromRow::from_row(row)?;
        Ok(Self {
            revision,
            at,
            digest,
        })
    }
}
