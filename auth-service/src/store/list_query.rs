//! Lists users in pages, by several orders and filters, and counts them.
//!
//! The pages use keyset pagination, so the last page costs as much as the first. The statement contains only the filters
//! in use, because conditions that are always true mislead query planners.

use super::user_store::user_rows::IS_ACTIVE;
use crate::user::{HAS_PASSWORD, LISTED_COLUMNS, ListedUser, is_in_force};
use rolegate_proto::{GroupName, Role};
use rolegate_sql_store::Statement;
use std::{fmt, str::FromStr};

/// The order of a list of users. Users with equal values are in the order of their ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UserOrder {
    /// The list is sorted by id.
    #[default]
    Id,
    /// The list is sorted by username, without regard to case and accents. It leaves out users without a search key.
    Username,
    /// The list is sorted by the time of the last login, beginning with users who never logged in.
    LastLogin,
    /// The list is sorted by the end of the account, ending with users who have no end.
    Until,
}

/// The value of a user by which a list is sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortValue {
    /// The list is sorted by id alone.
    None,
    /// The search key of the username.
    Text(String),
    /// A time in Unix seconds. A time that is not set is the lowest or the highest number.
    Seconds(i64),
}

/// The position of a user in a list, after which the next page begins. The position does not move if the user changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCursor {
    /// The id of the user.
    pub id: i64,
    /// The value by which the list is sorted.
    pub value: SortValue,
}

/// A text that is not a cursor of the list's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedCursor;

impl UserCursor {
    /// Returns the position in a list by id.
    pub(crate) fn at_id(id: i64) -> Self {
        Self {
            id,
            value: SortValue::None,
        }
    }

    /// Returns the position of a user as it was read.
    pub(crate) fn of_user(listed: &ListedUser, order: UserOrder) -> Self {
        let seconds = |time: u64| i64::try_from(time).unwrap_or(i64::MAX);
        let value = match order {
            UserOrder::Id => SortValue::None,
            UserOrder::Username => SortValue::Text(listed.search_key.clone().unwrap_or_default()),
            UserOrder::LastLogin => SortValue::Seconds(listed.last_login_at.map_or(0, seconds)),
            UserOrder::Until => SortValue::Seconds(listed.user.until.map_or(i64::MAX, seconds)),
        };
        Self {
            id: listed.user.id,
            value,
        }
    }

    /// Parses the text that `Display` has made of a cursor of this order. PostgreSQL would refuse a NUL, which like all
    /// control characters is in no username.
    pub(crate) fn parse(text: &str, order: UserOrder) -> Result<Self, MalformedCursor> {
        if text.chars().any(char::is_control) {
            return Err(MalformedCursor);
        }
        let (id, value) = text.split_once(':').ok_or(MalformedCursor)?;
        let value = match order {
            UserOrder::Id => return Err(MalformedCursor),
            UserOrder::Username => SortValue::Text(value.to_owned()),
            UserOrder::LastLogin | UserOrder::Until => SortValue::Seconds(parse(value)?),
        };
        Ok(Self {
            id: parse(id)?,
            value,
        })
    }
}

fn parse<N: FromStr>(text: &str) -> Result<N, MalformedCursor> {
    text.parse().map_err(|_| MalformedCursor)
}

impl fmt::Display for UserCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, value } = self;
        match value {
            SortValue::None => write!(f, "{id}:"),
            SortValue::Text(text) => write!(f, "{id}:{text}"),
            SortValue::Seconds(seconds) => write!(f, "{id}:{seconds}"),
        }
    }
}

/// Selects users by their role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoleFilter {
    /// Users who have this role.
    User(Role),
    /// Users who have this role, or an API key with it.
    UserOrApiKey(Role),
}

/// Selects a page of users. A user must match all filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// The order of the users.
    pub order: UserOrder,
    /// Whether the order is reversed.
    pub descending: bool,
    /// The position after which the page begins; `None` begins with the first user.
    pub after: Option<UserCursor>,
    /// The maximum number of users on the page.
    pub limit: i64,
    /// The text with which the usernames begin, taken literally; empty selects all users.
    pub username_prefix: String,
    /// The stored role; `None` selects all roles.
    pub role: Option<RoleFilter>,
    /// True selects disabled users, and false selects enabled users; `None` selects both.
    pub disabled: Option<bool>,
    /// The words that the search key of a user must contain, as `search_words` returns them. If there are any, all users
    /// need search keys.
    pub search: Vec<String>,
    /// True selects users whose second factor is on, and false the others; `None` selects both.
    pub second_factor: Option<bool>,
    /// True selects users who have a password, and false those who have none; `None` selects both.
    pub has_password: Option<bool>,
    /// The group in which the users are; `None` selects all users.
    pub group: Option<GroupName>,
    /// Selects users who have not logged in since this time in Unix seconds.
    pub not_since: Option<i64>,
    /// Selects users whose account ends before this time in Unix seconds.
    pub ends_before: Option<i64>,
}

impl UserFilter {
    /// Returns whether the statement reads the search keys of users.
    pub(crate) fn reads_search_keys(&self) -> bool {
        !self.search.is_empty() || self.order == UserOrder::Username
    }

    /// Returns whether a page may take as long as reading all users.
    pub(crate) fn reads_all_users(&self) -> bool {
        !self.selects_everybody() || self.order == UserOrder::LastLogin
    }

    fn selects_everybody(&self) -> bool {
        let everybody = Self {
            order: self.order,
            descending: self.descending,
            after: self.after.clone(),
            limit: self.limit,
            ..Self::default()
        };
        *self == everybody
    }

    /// Returns whether the users are read in the order of an index.
    ///
    /// With filters, only the index of ids is used. SQLite would read the users in the order of another index, one after
    /// the other, until enough of them match. For a million users and a rare match, it is several times faster to read
    /// the table and to sort the matches.
    fn is_indexed(&self) -> bool {
        match self.order {
            UserOrder::Id => true,
            UserOrder::Username | UserOrder::Until => self.selects_everybody(),
            UserOrder::LastLogin => false,
        }
    }

    /// Returns the expression by which the list is sorted before the id. If no index is to be used, it differs from that
    /// of the index.
    fn sort_expression(&self) -> Option<&'static str> {
        Some(match self.order {
            UserOrder::Id => return None,
            UserOrder::Username if self.is_indexed() => "search_key",
            UserOrder::Username => "search_key || ''",
            UserOrder::LastLogin => "coalesce(last_login_at, 0)",
            UserOrder::Until if self.is_indexed() => {
                r#"coalesce("user".until, 9223372036854775807)"#
            }
            UserOrder::Until => r#"+coalesce("user".until, 9223372036854775807)"#,
        })
    }
}

/// Completes the statement `select`, which ends with `SELECT `, so that it reads a page of users.
pub(super) fn list_query(select: Statement, filter: &UserFilter) -> Statement {
    let query = select.push(LISTED_COLUMNS);
    if filter.is_indexed() {
        return push_page(push_filters(query, filter), filter);
    }
    // The inner statement sorts ids, so that only the rows of the page have their memberships read.
    let query = query.push(r#" FROM "user" WHERE id IN (SELECT id"#);
    let query = push_page(push_filters(query, filter), filter).push(")");
    push_order(query, filter)
}

/// Appends the condition that a user comes after the cursor, the order and the limit.
fn push_page(mut query: Statement, filter: &UserFilter) -> Statement {
    let expression = filter.sort_expression();
    if let Some(UserCursor { id, value }) = &filter.after {
        let is_beyond = if filter.descending { " < " } else { " > " };
        query = match (expression, value) {
            (Some(expression), SortValue::Text(text)) => push_sorted(query, expression, is_beyond)
                .push_bind(&**text)
                .push(", "),
            (Some(expression), SortValue::Seconds(seconds)) => {
                push_sorted(query, expression, is_beyond)
                    .push_bind(*seconds)
                    .push(", ")
            }
            _ => query.push(" AND (id)").push(is_beyond).push("("),
        };
        query = query.push_bind(*id).push(")");
    }
    push_order(query, filter)
        .push(" LIMIT ")
        .push_bind(filter.limit)
}

fn push_order(mut query: Statement, filter: &UserFilter) -> Statement {
    let direction = if filter.descending { " DESC" } else { "" };
    query = query.push(" ORDER BY ");
    if let Some(expression) = filter.sort_expression() {
        query = query.push(expression).push(direction).push(", ");
    }
    query.push("id").push(direction)
}

/// Begins the condition that a user comes after a cursor.
fn push_sorted(query: Statement, expression: &'static str, is_beyond: &'static str) -> Statement {
    query
        .push(" AND (")
        .push(expression)
        .push(", id)")
        .push(is_beyond)
        .push("(")
}

/// Completes the statement `select`, which ends with `SELECT `, so that it counts the users on all pages.
pub(super) fn count_query(select: Statement, filter: &UserFilter) -> Statement {
    push_filters(select.push("count(*)"), filter)
}

/// Appends the table and the conditions of the filters.
fn push_filters(select: Statement, filter: &UserFilter) -> Statement {
    let mut query = select.push(r#" FROM "user" WHERE true"#);
    if !filter.username_prefix.is_empty() {
        let start = &*filter.username_prefix;
        query = query.push(" AND username >= ").push_bind(start);
        if let Some(end) = prefix_end(start) {
            query = query.push(" AND username < ").push_bind(end);
        }
    }
    match &filter.role {
        Some(RoleFilter::User(role)) => {
            query = query.push(" AND role = ").push_bind(role.as_str());
        }
        Some(RoleFilter::UserOrApiKey(role)) => {
            query = query
                .push(" AND (role = ")
                .push_bind(role.as_str())
                .push(" OR id IN (SELECT user_id FROM api_key WHERE role = ")
                .push_bind(role.as_str())
                .push("))");
        }
        None => {}
    }
    for (wanted, condition) in [
        (filter.disabled.map(|disabled| !disabled), IS_ACTIVE),
        (filter.second_factor, "second_factor"),
        (filter.has_password, HAS_PASSWORD),
    ] {
        if let Some(wanted) = wanted {
            query = query
                .push(if wanted { " AND (" } else { " AND NOT (" })
                .push(condition)
                .push(")");
        }
    }
    if let Some(group) = &filter.group {
        query = query
            .push(" AND id IN (SELECT user_id FROM membership WHERE group_name = ")
            .push_bind(group.to_string())
            .push(concat!(" AND ", is_in_force!(), ")"));
    }
    if let Some(not_since) = filter.not_since {
        query = query
            .push(" AND (last_login_at IS NULL OR last_login_at < ")
            .push_bind(not_since)
            .push(")");
    }
    if let Some(ends_before) = filter.ends_before {
        query = query.push(r#" AND "user".until < "#).push_bind(ends_before);
    }
    if filter.order == UserOrder::Username {
        // Engines sort users without a key to different ends of the list.
        query = query.push(" AND search_key IS NOT NULL");
    }
    for word in &filter.search {
        query = query.push(" AND search_key").push_contains(word);
    }
    query
}

/// Returns the end of the half-open range of usernames that begin with `prefix`; `None` if the range has no end.
///
/// The range begins with the prefix itself. Both engines can use an index for a range in byte order, and no character
/// of the prefix acts as a wildcard.
fn prefix_end(prefix: &str) -> Option<String> {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        // UTF-8 sorts by code point, and the range of `char` skips the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return Some(end.into_iter().collect());
        }
    }
    None
}

#[cfg(test)]
mod tests;
