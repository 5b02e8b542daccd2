//! Converts domain values to messages.

use crate::user::User;
use rolegate_proto::auth_v1;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        let User { id, username, role, disabled, .. } = user;
        Self { id, username, role: role.into(), disabled }
    }
}

impl From<User> for auth_v1::UserName {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username }
    }
}
