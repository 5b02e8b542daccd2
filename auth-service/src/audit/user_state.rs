//! Encodes the column `state` of the record.

use rolegate_proto::{Role, UnknownRole};
use std::{fmt, str::FromStr};

/// The end of the text in the column `state` if the user is disabled. The role comes before it.
const DISABLED: &str = " disabled";

/// The properties of a user, besides the username, that other services store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UserState {
    pub(crate) role: Role,
    pub(crate) disabled: bool,
}

impl fmt::Display for UserState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.disabled { DISABLED } else { "" };
        write!(formatter, "{}{suffix}", self.role)
    }
}

impl FromStr for UserState {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let role_of_disabled = text.strip_suffix(DISABLED);
        Ok(Self {
            role: role_of_disabled.unwrap_or(text).parse()?,
            disabled: role_of_disabled.is_some(),
        })
    }
}
