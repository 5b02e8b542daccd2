//! Domain values as messages, and back.

use crate::{role::Role, user::User};
use rolegate_proto::auth_v1;

impl From<User> for auth_v1::User {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username, role: role_to_proto(user.role).into() }
    }
}

impl From<User> for auth_v1::UserName {
    fn from(user: User) -> Self {
        Self { id: user.id, username: user.username }
    }
}

fn role_to_proto(role: Role) -> auth_v1::Role {
    match role {
        Role::User => auth_v1::Role::User,
        Role::Author => auth_v1::Role::Author,
        Role::Admin => auth_v1::Role::Admin,
    }
}

/// A role on the wire; `None` for `ROLE_UNSPECIFIED` and for numbers that name no role.
pub(super) fn role_from_wire(number: i32) -> Option<Role> {
    match auth_v1::Role::try_from(number).ok()? {
        auth_v1::Role::Unspecified => None,
        auth_v1::Role::User => Some(Role::User),
        auth_v1::Role::Author => Some(Role::Author),
        auth_v1::Role::Admin => Some(Role::Admin),
    }
}
