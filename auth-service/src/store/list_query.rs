//! Lists users in pages.
//!
//! The pages use keyset pagination on an index, so the last page costs as much as the first. The statement contains
//! only the filters in use, because conditions that are always true mislead query planners.

use super::{StoreError, user_store::user_rows::IS_ACTIVE};
use crate::user::{LISTED_COLUMNS, ListedUser};
use rolegate_proto::Role;
use rolegate_sql_store::{Database, Statement};

/// The maximum number of users that one statement of a search examines, which takes some hundredths of a second. The
/// number is limited, because SQLite runs a statement to its end even if its caller is gone. Until then, the statement
/// occupies one of a few connections.
const SEARCH_BATCH: i64 = 50_000;

/// Selects a page of users. A user must match all filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFilter {
    /// The id after which the page begins; 0 begins with the first user.
    pub after: i64,
    /// The maximum number of users on the page.
    pub limit: i64,
    /// The text with which the usernames begin, taken literally; empty selects all users.
    pub username_prefix: String,
    /// The stored role; `None` selects all roles.
    pub role: Option<Role>,
    /// True selects disabled users, and false selects enabled users; `None` selects both.
    pub disabled: Option<bool>,
    /// The text that a username must contain, taken literally but case-insensitive; empty selects all users.
    pub search: String,
}

/// Lists users by ascending id. A search reads one batch of users after the other, until the page is full or no user is
/// left.
pub(super) async fn list(
    database: &Database,
    mut filter: UserFilter,
) -> Result<Vec<ListedUser>, StoreError> {
    let mut found = Vec::new();
    loop {
        let last = if filter.search.is_empty() {
            None
        } else {
            last_of_batch(database, filter.after).await?
        };
        let query = list_query(database.statement("SELECT "), &filter, last);
        let users: Vec<ListedUser> = database.read(query).await?;
        filter.limit -= i64::try_from(users.len()).unwrap_or(filter.limit);
        found.extend(users);
        match last {
            Some(last) if filter.limit > 0 => filter.after = last,
            _ => return Ok(found),
        }
    }
}

/// Returns the last id of the next batch of a search, which begins after the id `after`. Returns `None` if no full
/// batch is left, so that the statement reads all remaining users.
async fn last_of_batch(database: &Database, after: i64) -> Result<Option<i64>, StoreError> {
    let select = database
        .statement(r#"SELECT id FROM "user" WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2"#)
        .bind(after)
        .bind(SEARCH_BATCH - 1);
    database.read_optional(select).await
}

/// Completes the statement `select`, which ends with `SELECT `, so that it reads a page of users. If `last` is given,
/// the statement reads only users up to this id, with which a batch of a search ends.
pub(super) fn list_query(select: Statement, filter: &UserFilter, last: Option<i64>) -> Statement {
    let select = select.push(LISTED_COLUMNS).push(r#" FROM "user""#);
    let mut query = select.push(" WHERE id > ").push_bind(filter.after);
    if let Some(last) = last {
        query = query.push(" AND id <= ").push_bind(last);
    }
    if !filter.username_prefix.is_empty() {
        let start = &*filter.username_prefix;
        query = query.push(" AND username >= ").push_bind(start);
        if let Some(end) = prefix_end(start) {
            query = query.push(" AND username < ").push_bind(end);
        }
    }
    if let Some(role) = &filter.role {
        query = query.push(" AND role = ").push_bind(role.as_str());
    }
    if let Some(disabled) = filter.disabled {
        query = query.push(if disabled { " AND NOT " } else { " AND " });
        query = query.push(IS_ACTIVE);
    }
    if !filter.search.is_empty() {
        query = query.push(" AND username").push_contains(&filter.search);
    }
    query.push(" ORDER BY id LIMIT ").push_bind(filter.limit)
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
mod tests {
    use super::prefix_end;

    #[test]
    fn prefix_is_a_range_in_byte_order() {
        for (prefix, end) in [
            ("", None),
            ("ab", Some("ac")),
            ("a%", Some("a&")),
            ("\u{d7ff}", Some("\u{e000}")),
            ("a\u{10ffff}", Some("b")),
            ("\u{10ffff}", None),
        ] {
            assert_eq!(prefix_end(prefix), end.map(str::to_owned));
        }
    }
}
