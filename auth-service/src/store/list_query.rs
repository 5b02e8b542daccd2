//! The one query that lists users, for both engines.
//!
//! Keyset paging: a page begins where the one before ended, by an index in the order of the page, so
//! the last page costs what the first one costs. Only what is filtered by stands in the query: a
//! condition that is true for everybody would be one more thing for a planner to be wrong about.

use super::UserFilter;
use rolegate_proto::Role;
use sqlx::{Database, Encode, QueryBuilder, Type};

/// Users by ascending id.
pub(super) fn list_query<DB: Database>(filter: &UserFilter) -> QueryBuilder<DB>
where
    for<'q> i64: Encode<'q, DB> + Type<DB>,
    for<'q> String: Encode<'q, DB> + Type<DB>,
    for<'q> &'static str: Encode<'q, DB> + Type<DB>,
{
    let columns = r#"SELECT id, username, role, tokens_not_before FROM "user" WHERE id > "#;
    let mut query = QueryBuilder::new(columns);
    query.push_bind(filter.after);
    if !filter.username_prefix.is_empty() {
        let (start, end) = filter.username_range();
        query.push(" AND username >= ").push_bind(start.to_owned());
        if let Some(end) = end {
            query.push(" AND username < ").push_bind(end);
        }
    }
    if let Some(role) = filter.role {
        query.push(" AND role = ").push_bind(Role::as_str(role));
    }
    query.push(" ORDER BY id LIMIT ").push_bind(filter.limit);
    query
}
