//! Defines the names of roles and groups, and converts the numbers that the previous release sends instead of roles.

use crate::{
    auth_v1,
    limits::{MAX_GROUPS, MAX_ROLES},
};
use std::{fmt, str::FromStr};

/// The maximum length of a name, in bytes.
const MAX_LENGTH: usize = 32;

/// The name of a role: `[a-z][a-z0-9_-]{0,31}`, padded with NUL. Three roles always exist; only auth-service
/// knows the others.
///
/// No role includes another one, except that `user` is below all roles and `admin` is above all roles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role([u8; MAX_LENGTH]);

/// The name of a group, which follows the rules of the names of roles. Only auth-service knows which groups exist.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(Role);

/// The error for a text that is no name of a role or a group, or for a number that does not identify a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a role")]
pub struct UnknownRole;

impl Role {
    /// The lowest role, which every registered user has at least.
    pub const USER: Self = Self::pad(b"user");
    /// The role that may write posts.
    pub const AUTHOR: Self = Self::pad(b"author");
    /// The role that may manage users.
    pub const ADMIN: Self = Self::pad(b"admin");

    /// The roles that always exist.
    pub const BUILT_IN: [Self; 3] = [Self::USER, Self::AUTHOR, Self::ADMIN];

    /// Pads a well-formed name with NUL.
    const fn pad(name: &[u8]) -> Self {
        let mut padded = [0; MAX_LENGTH];
        let (start, _) = padded.split_at_mut(name.len());
        start.copy_from_slice(name);
        Self(padded)
    }

    /// Returns the name, as it is in JSON, in the `role` claim and in the database.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let Self(padded) = self;
        let length = padded.iter().position(|&byte| byte == 0);
        // The conversion never fails, because the name is ASCII.
        str::from_utf8(&padded[..length.unwrap_or(MAX_LENGTH)]).unwrap_or_default()
    }

    /// Parses a list of names that are separated by commas, such as `author,admin`, and drops repeated names.
    /// Returns an error for an empty list or a malformed name. A list of more roles than a service can have is
    /// also an error, because one of them does not exist.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, UnknownRole> {
        parse_list(names, MAX_ROLES)
    }

    /// Returns the role that grants what both roles grant: the lower one, or `user` if neither is below the
    /// other.
    #[must_use]
    pub fn lower(self, other: Self) -> Self {
        match (self, other) {
            (Self::ADMIN, lower) | (lower, Self::ADMIN) => lower,
            (one, same) if one == same => one,
            _ => Self::USER,
        }
    }

    /// Parses the role in a message: from its name or, in a message from the previous release, from its
    /// number.
    pub fn from_message(name: &str, number: i32) -> Result<Self, UnknownRole> {
        if !name.is_empty() {
            return name.parse();
        }
        match auth_v1::Role::try_from(number) {
            Ok(auth_v1::Role::User) => Ok(Self::USER),
            Ok(auth_v1::Role::Author) => Ok(Self::AUTHOR),
            Ok(auth_v1::Role::Admin) => Ok(Self::ADMIN),
            _ => Err(UnknownRole),
        }
    }

    /// Returns the number for a request to a service of the previous release. For an added role, it is a
    /// number that such a service refuses.
    #[must_use]
    pub fn request_number(self) -> i32 {
        match self {
            Self::USER => auth_v1::Role::User,
            Self::AUTHOR => auth_v1::Role::Author,
            Self::ADMIN => auth_v1::Role::Admin,
            _ => auth_v1::Role::Unspecified,
        }
        .into()
    }

    /// Returns the number for a response to a client of the previous release. Such a client takes the bearer
    /// of an added role for an ordinary user.
    #[must_use]
    pub fn response_number(self) -> i32 {
        match self.request_number() {
            0 => auth_v1::Role::User.into(),
            number => number,
        }
    }
}

impl GroupName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let Self(name) = self;
        name.as_str()
    }

    /// Parses a list of names that are separated by commas, such as `crew,staff`, and drops repeated names. Returns an
    /// error for an empty list, a malformed name, or more names than a requirement can have.
    pub fn parse_list(names: &str) -> Result<Vec<Self>, UnknownRole> {
        parse_list(names, MAX_GROUPS)
    }
}

/// Parses at most `max` different names that are separated by commas.
fn parse_list<N>(text: &str, max: usize) -> Result<Vec<N>, UnknownRole>
where
    N: FromStr<Err = UnknownRole> + PartialEq,
{
    let mut names = Vec::new();
    for name in text.split(',') {
        let name = name.parse()?;
        if !names.contains(&name) {
            names.push(name);
        }
        if names.len() > max {
            return Err(UnknownRole);
        }
    }
    Ok(names)
}

impl fmt::Display for GroupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for GroupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl FromStr for GroupName {
    type Err = UnknownRole;

    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        Ok(Self(name.parse()?))
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), formatter)
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    /// Parses a name. Names are exact: `Admin` and ` admin` are not roles.
    fn from_str(name: &str) -> Result<Self, UnknownRole> {
        let [b'a'..=b'z', rest @ ..] = name.as_bytes() else {
            return Err(UnknownRole);
        };
        let is_name_byte = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if rest.len() >= MAX_LENGTH || !rest.iter().all(is_name_byte) {
            return Err(UnknownRole);
        }
        Ok(Self::pad(name.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::Role;

    fn role(name: &str) -> Role {
        name.parse().expect("a role")
    }

    #[test]
    fn a_list_has_at_least_one_name_and_well_formed_names_only() {
        assert_eq!(
            Role::parse_list("author,admin"),
            Ok(vec![Role::AUTHOR, Role::ADMIN])
        );
        for invalid in [
            "",
            ",",
            "author,",
            "author, admin",
            "Admin",
            "*",
            "author;admin",
        ] {
            assert!(Role::parse_list(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_list_has_each_name_once_and_no_more_than_there_can_be_roles() {
        let repeated = ["author,admin"; 1000].join(",");
        assert_eq!(
            Role::parse_list(&repeated),
            Ok(vec![Role::AUTHOR, Role::ADMIN])
        );
        let list = |count| {
            (0..count)
                .map(|it| format!("role{it}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        assert_eq!(Role::parse_list(&list(35)).map(|roles| roles.len()), Ok(35));
        assert!(Role::parse_list(&list(36)).is_err());
    }

    #[test]
    fn a_name_has_at_most_32_bytes_and_starts_with_a_letter() {
        for name in ["a", "night-shift_2", &"z".repeat(32)] {
            assert_eq!(role(name).as_str(), name);
        }
        for invalid in [
            "",
            "1a",
            "-a",
            "_a",
            "é",
            "a b",
            "a.b",
            "a\0",
            "aB",
            &"z".repeat(33),
        ] {
            assert!(invalid.parse::<Role>().is_err(), "{invalid:?}");
        }
    }

    #[test]
    fn user_is_below_all_roles_and_admin_above_and_others_have_no_order() {
        let (editor, auditor) = (role("editor"), role("auditor"));
        for (one, other, lower) in [
            (Role::USER, Role::ADMIN, Role::USER),
            (Role::AUTHOR, Role::ADMIN, Role::AUTHOR),
            (Role::AUTHOR, Role::USER, Role::USER),
            (editor, Role::ADMIN, editor),
            (editor, editor, editor),
            (editor, auditor, Role::USER),
            (editor, Role::AUTHOR, Role::USER),
            (Role::ADMIN, Role::ADMIN, Role::ADMIN),
        ] {
            assert_eq!(one.lower(other), lower, "{one} and {other}");
            assert_eq!(other.lower(one), lower, "{other} and {one}");
        }
    }

    #[test]
    fn the_version_before_refuses_to_require_an_added_role_and_takes_its_users_for_users() {
        for built_in in Role::BUILT_IN {
            assert_eq!(
                Role::from_message("", built_in.request_number()),
                Ok(built_in)
            );
            assert_eq!(built_in.response_number(), built_in.request_number());
        }
        let editor = role("editor");
        assert_eq!((editor.request_number(), editor.response_number()), (0, 1));
        assert_eq!(Role::from_message("editor", 1), Ok(editor));
        for (name, number) in [("", 0), ("", 4), ("", -1), ("Admin", 3)] {
            assert!(
                Role::from_message(name, number).is_err(),
                "{name:?} {number}"
            );
        }
    }
}
