//! The types of stored users, with their columns: how they are read, and how an import inserts them.

use crate::group::{Membership, parse_group_names};
use rolegate_proto::{GroupName, Role};
use rolegate_sql_store::{Column, Columns, Row, TableRow, sqlx};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Serialize, Serializer};

/// The condition that a user was disabled, or that the account has ended.
macro_rules! is_disabled {
    () => {
        r#"(disabled OR "user".until IS NOT NULL AND "user".until <= $NOW)"#
    };
}
pub(crate) use is_disabled;

/// The condition that a membership has not ended.
macro_rules! is_in_force {
    () => {
        "(membership.until IS NULL OR membership.until > $NOW)"
    };
}
pub(crate) use is_in_force;

/// The memberships of a user that have not ended, as `Membership::parse_list` reads them.
macro_rules! memberships {
    () => {
        concat!(
            "(SELECT string_agg(group_name || coalesce('=' || membership.until, ''), ',') FROM membership
                 WHERE membership.user_id = \"user\".id AND ",
            $crate::user::is_in_force!(),
            ") AS groups"
        )
    };
}
pub(crate) use memberships;

/// The columns of a user except the last, which a decision replaces: see [`user_columns`].
macro_rules! user_columns_before_found_groups {
    () => {
        concat!(
            "id, username, role, tokens_not_before, ",
            $crate::user::is_disabled!(),
            r#" AS disabled, tokens_marked_until, second_factor, created_at, "user".until AS until, "#,
            $crate::user::memberships!(),
            ", "
        )
    };
}
pub(crate) use user_columns_before_found_groups;

/// The columns of a user, in the order in which they are decoded. Other columns of a statement come after them. A
/// decision that requires groups reads the names of those that exist in place of the last column.
macro_rules! user_columns {
    () => {
        concat!(
            $crate::user::user_columns_before_found_groups!(),
            "NULL AS found_groups"
        )
    };
}
pub(crate) use user_columns;

/// A stored user, without the password hash and other secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The id, at least 1, which the database assigns.
    ///
    /// Two users get the same id only by `user import --reuse-ids`, or after a restore without
    /// `user end-all`. [`User::created_at`] distinguishes such users.
    pub id: i64,
    /// The username, which is unique and compared byte for byte.
    pub username: String,
    /// The stored role, which has no effect in some cases: see `Actor::ineffective_role`.
    pub role: Role,
    /// Tokens issued before this time, in Unix seconds, are revoked. Every change of the password
    /// increases it, so it also identifies the version of the password.
    pub tokens_not_before: u64,
    /// True if every credential of the user is refused, as if the user did not exist: the user was disabled, or the
    /// account had ended when the user was read.
    pub disabled: bool,
    /// The stored part of `User::marked_until`, in Unix seconds; 0 if there is none.
    ///
    /// A revocation sets it when it lowers a `tokens_not_before` that is far in the future. The
    /// clock was ahead when that time was stored, so tokens that were issued by the same clock must
    /// not become valid again.
    pub tokens_marked_until: u64,
    /// True if a login with the password also needs a one-time code.
    pub second_factor: bool,
    /// When the user was created, in Unix seconds. `None` for users who were created by a version
    /// that did not store it, and for users who were imported with their tokens.
    pub created_at: Option<u64>,
    /// When the account ends, in Unix seconds; `None` if it has no end.
    pub until: Option<u64>,
    /// The memberships that had not ended when the user was read, by the name of the group.
    pub memberships: Vec<Membership>,
    /// The groups that exist among those that a decision requires; empty in all other reads.
    pub found_groups: Vec<GroupName>,
}

/// Decodes the columns by position, which is faster than by name, because almost every request reads a user.
impl TableRow for User {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let role: String = row.get(2)?;
        let memberships: Option<String> = row.get(9)?;
        let found_groups: Option<String> = row.get(10)?;
        Ok(Self {
            id: row.get(0)?,
            username: row.get(1)?,
            role: role
                .parse()
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            tokens_not_before: row.seconds(3)?,
            disabled: row.get(4)?,
            tokens_marked_until: row.seconds(5)?,
            second_factor: row.get(6)?,
            created_at: row.optional_seconds(7)?,
            until: row.optional_seconds(8)?,
            memberships: Membership::parse_list(memberships.as_deref())?,
            found_groups: parse_group_names(found_groups.as_deref().unwrap_or_default())?,
        })
    }
}

impl User {
    /// Returns whether the user is an enabled admin whose account has no end. At least one of these must remain,
    /// because time alone must not leave nobody who can manage users.
    pub(crate) fn is_lasting_admin(&self) -> bool {
        self.role == Role::ADMIN && !self.disabled && self.until.is_none()
    }

    pub(crate) fn membership(&self, group: GroupName) -> Option<Membership> {
        self.memberships
            .iter()
            .copied()
            .find(|membership| membership.group == group)
    }

    /// Returns the names of the groups that the user is in, by ascending name.
    pub(crate) fn group_names(&self) -> Vec<String> {
        self.memberships
            .iter()
            .map(|membership| membership.group.to_string())
            .collect()
    }

    /// Returns the time, in Unix seconds, before which a token is valid only with a mark: its
    /// header must contain exactly this `marked_until`.
    ///
    /// It is at least `created_at`, so a token of an earlier user with the same id is refused.
    /// Tokens that are issued while the clock is behind `created_at` carry the mark, and are valid.
    pub(crate) fn marked_until(&self) -> u64 {
        self.tokens_marked_until
            .max(self.created_at.unwrap_or_default())
    }
}

/// The condition that a user has a password. The text `!` is stored in place of a missing hash, after the prefix `otp:`
/// while the second factor is on.
macro_rules! has_password {
    () => {
        "password NOT IN ('!', 'otp:!')"
    };
}
pub(crate) const HAS_PASSWORD: &str = has_password!();

/// The columns of a [`ListedUser`].
pub(crate) const LISTED_COLUMNS: &str = concat!(
    user_columns!(),
    ", last_login_at, search_key, ",
    has_password!(),
    " AS has_password"
);

/// A user as shown in lists, with the time of the last login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedUser {
    /// The user.
    pub user: User,
    /// When the user last logged in with the password, in Unix seconds; `None` if no login was
    /// stored.
    pub last_login_at: Option<u64>,
    /// False if the user has yet to choose a password by a link.
    pub has_password: bool,
    /// The key by which lists are sorted by username. It may be missing, or belong to a former name.
    pub search_key: Option<String>,
}

impl TableRow for ListedUser {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        Ok(Self {
            user: User::from_row(row)?,
            last_login_at: row.optional_seconds("last_login_at")?,
            has_password: row.get("has_password")?,
            search_key: row.get("search_key")?,
        })
    }
}

/// A user with the password hash, which `Debug` does not print.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// The user.
    pub user: User,
    /// The stored hash, such as `$2b$12$…`.
    pub password_hash: SecretString,
}

impl TableRow for Credentials {
    fn from_row(row: Row<'_>) -> sqlx::Result<Self> {
        let password: String = row.get("password")?;
        // While the second factor is on, a prefix makes the hash invalid for processes of a release that does not know
        // the second factor.
        let hash = password.strip_prefix("otp:").unwrap_or(&password);
        Ok(Self {
            user: User::from_row(row)?,
            password_hash: hash.into(),
        })
    }
}

/// A user to insert, with all columns that an import sets. It is serialized as a row for the statement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct UserRecord {
    /// The id of the user; `None` if the database is to assign an id.
    pub(crate) id: Option<i64>,
    pub(crate) username: String,
    #[serde(rename = "password", serialize_with = "serialize_exposed")]
    pub(crate) password_hash: SecretString,
    #[serde(serialize_with = "serialize_name")]
    pub(crate) role: Role,
    pub(crate) disabled: bool,
    /// The time before which issued tokens are revoked, in Unix seconds.
    pub(crate) tokens_not_before: i64,
    /// The stored part of `User::marked_until`, in Unix seconds.
    pub(crate) tokens_marked_until: i64,
    /// The time at which the user was created, in Unix seconds.
    ///
    /// It is `None` if the tokens that the other database has issued to the user must stay valid, because a token from
    /// before the time of creation would be refused. If a user with the same id was deleted in this database, the
    /// import replaces the value with a time after that user's creation.
    pub(crate) created_at: Option<i64>,
    /// When the account ends, in Unix seconds.
    pub(crate) until: Option<i64>,
    /// The memberships of the user. An unknown group is created.
    #[serde(skip)]
    pub(crate) memberships: Vec<Membership>,
}

impl Columns for UserRecord {
    const COLUMNS: &'static [Column] = &[
        Column::new::<i64>("id"),
        Column::new::<String>("username"),
        Column::new::<String>("password"),
        Column::new::<String>("role"),
        Column::new::<bool>("disabled"),
        Column::new::<i64>("tokens_not_before"),
        Column::new::<i64>("tokens_marked_until"),
        Column::new::<i64>("created_at"),
        Column::new::<i64>("until"),
    ];
}

fn serialize_exposed<S: Serializer>(hash: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(hash.expose_secret())
}

fn serialize_name<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.as_str())
}
