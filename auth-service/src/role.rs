//! What a user may do.

use std::{fmt, str::FromStr};

/// The role of a user. Its text form is what the store and the `role` claim hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Every registered user.
    User,
    /// May write.
    Author,
    /// May manage users.
    Admin,
}

/// A text that names no role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a role")]
pub struct UnknownRole;

impl Role {
    /// Every role.
    pub const ALL: [Self; 3] = [Self::User, Self::Author, Self::Admin];

    /// `user`, `author` or `admin`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Author => "author",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|role| role.as_str() == text).ok_or(UnknownRole)
    }
}
