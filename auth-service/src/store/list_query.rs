//! The query that lists users.
//!
//! Keyset pagination on an index: the last page costs as much as the first. The query contains only
//! the filters in use, because conditions that are always true mislead query planners.

use super::UserFilter;
use rolegate_sql_store::Statement;

/// Users by ascending id, after the `SELECT` of their columns.
pub(super) fn list_query(select: Statement, filter: &UserFilter) -> Statement {
    let mut query = select.push(" WHERE id > ").push_bind(filter.after);
    if !filter.username_prefix.is_empty() {
        let (start, end) = prefix_range(&filter.username_prefix);
        query = query.push(" AND username >= ").push_bind(start);
        if let Some(end) = end {
            query = query.push(" AND username < ").push_bind(end);
        }
    }
    if let Some(role) = &filter.role {
        query = query.push(" AND role = ").push_bind(role.as_str());
    }
    if filter.is_enabled {
        query = query.push(" AND NOT disabled");
    }
    query.push(" ORDER BY id LIMIT ").push_bind(filter.limit)
}

/// The usernames with a prefix as a half-open range in byte order, which both engines answer from
/// the index and in which no character is special; no end where no text follows the prefix.
fn prefix_range(prefix: &str) -> (&str, Option<String>) {
    let mut end: Vec<char> = prefix.chars().collect();
    while let Some(last) = end.pop() {
        // UTF-8 sorts by code point; the range skips the surrogates.
        if let Some(next) = (last..=char::MAX).nth(1) {
            end.push(next);
            return (prefix, Some(end.into_iter().collect()));
        }
    }
    (prefix, None)
}

#[cfg(test)]
mod tests {
    use super::prefix_range;

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
            assert_eq!(prefix_range(prefix), (prefix, end.map(str::to_owned)));
        }
    }
}
