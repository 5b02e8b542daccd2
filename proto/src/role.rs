//! The roles of users.

use crate::auth_v1;
use std::{fmt, str::FromStr};

/// The role of a user. A greater one may do more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Every registered user.
    User = auth_v1::Role::User as isize,
    /// May write posts.
    Author = auth_v1::Role::Author as isize,
    /// May manage users.
    Admin = auth_v1::Role::Admin as isize,
}

/// The text or number names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a role")]
pub struct UnknownRole;

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::User, Self::Author, Self::Admin];

    /// The name in JSON, in the `role` claim and in the database: `user`, `author` or `admin`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }

    /// Parses names separated by commas, such as `author,admin`: at least one, each known.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, UnknownRole> {
        names.split(',').map(str::parse).collect()
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    /// Names are exact: `Admin` and ` admin` are not roles.
    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == name).ok_or(UnknownRole)
    }
}

impl From<Role> for i32 {
    /// The number in protobuf messages.
    fn from(role: Role) -> Self {
        role as Self
    }
}

impl TryFrom<i32> for Role {
    type Error = UnknownRole;

    /// From the number in a protobuf message. `ROLE_UNSPECIFIED` and the numbers of later versions
    /// are not roles.
    fn try_from(number: i32) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|&role| i32::from(role) == number).ok_or(UnknownRole)
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    #[test]
    fn a_list_has_at_least_one_name_and_known_names_only() {
        assert_eq!(Role::parse_list("author,admin"), Ok(vec![Role::Author, Role::Admin]));
        for invalid in ["", ",", "author,", "author, admin", "Admin", "*", "author;admin"] {
            assert!(Role::parse_list(invalid).is_err(), "{invalid}");
        }
    }
}
