//! A role in a request.

use rolegate_proto::Role;

/// The name of a role, and its number for an auth-service of the version before.
#[derive(Default)]
pub(super) struct RoleFields {
    pub(super) name: String,
    pub(super) number: i32,
}

impl RoleFields {
    /// `None` stands for a malformed name. Its fields name no role, which auth-service rejects after its earlier
    /// checks.
    pub(super) fn new(role: Option<Role>) -> Self {
        match role {
            Some(role) => Self {
                name: role.to_string(),
                number: role.request_number(),
            },
            None => Self::default(),
        }
    }
}
