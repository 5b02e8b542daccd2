//! Converts domain values to messages.

use crate::user::User;
use rolegate_proto::auth_v1;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username, role: user.role.into() }
    }
}

impl From<User> for auth_v1::UserName {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username }
    }
}
