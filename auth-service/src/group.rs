//! Groups, and the memberships of users in them.

use prost_types::Timestamp;
use rolegate_proto::GroupName;
use rolegate_sql_store::{row, sqlx};
use std::error::Error;

row! {
    /// A stored group.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Group {
        /// The id, at least 1. The database assigns it and never reuses it.
        pub id: i64,
        /// The name, which never changes.
        pub name: String,
        /// The number of users who are in the group.
        pub members: i64,
    }
}

row! {
    /// A member of a group.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct Member {
        pub(crate) user_id: i64,
        pub(crate) username: String,
        /// When the membership ends, in Unix seconds; `None` if it never does.
        pub(crate) until: Option<i64>,
    }
}

row! {
    /// A group that a user is in.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(crate) struct UserGroup {
        pub(crate) id: i64,
        pub(crate) name: String,
        /// When the membership ends, in Unix seconds; `None` if it never does.
        pub(crate) until: Option<i64>,
    }
}

/// A membership of a user that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The name of the group.
    pub group: GroupName,
    /// When the membership ends, in Unix seconds; `None` if it never does.
    pub until: Option<u64>,
}

impl Membership {
    /// Parses the memberships in the column `groups` of a user, such as `crew,staff=1796403600`, and returns them by
    /// the name of the group.
    pub(crate) fn parse_list(column: Option<&str>) -> sqlx::Result<Vec<Self>> {
        let Some(column) = column else {
            return Ok(Vec::new());
        };
        let memberships: Result<Vec<Self>, _> = column.split(',').map(Self::parse).collect();
        let mut memberships = memberships.map_err(sqlx::Error::Decode)?;
        memberships.sort_unstable_by_key(|membership| membership.group);
        Ok(memberships)
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let (group, until) = match text.split_once('=') {
            Some((group, until)) => (group, Some(until.parse()?)),
            None => (text, None),
        };
        Ok(Self {
            group: group.parse()?,
            until,
        })
    }
}

/// Formats the end of a membership or an account, in Unix seconds, for the log and the record.
pub(crate) fn format_end(until: Option<u64>) -> String {
    match until {
        Some(seconds) => Timestamp {
            seconds: seconds.try_into().unwrap_or(i64::MAX),
            nanos: 0,
        }
        .to_string(),
        None => "never".to_owned(),
    }
}

/// Parses the names of groups in a column, such as `crew,staff`. An empty text is an empty list.
pub(crate) fn parse_group_names(column: &str) -> sqlx::Result<Vec<GroupName>> {
    let names = column.split(',').filter(|name| !name.is_empty());
    names
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|error| sqlx::Error::Decode(Box::new(error)))
}

/// Returns the names of these groups as texts.
pub(crate) fn to_names(groups: &[GroupName]) -> Vec<String> {
    groups.iter().map(GroupName::to_string).collect()
}

/// Joins names of groups with commas.
pub(crate) fn join_group_names(names: &[GroupName]) -> String {
    let names: Vec<&str> = names.iter().map(GroupName::as_str).collect();
    names.join(",")
}
