//! Names the events of the record.

/// The event of a renaming. Its entry has two usernames, the old one and the new one.
pub(crate) const USER_RENAMED: &str = "user_renamed";

/// The event of a new end of an account.
pub(super) const USER_END_SET: &str = "user_end_set";
pub(super) const GROUP_CREATED: &str = "group_created";
pub(super) const GROUP_DELETED: &str = "group_deleted";
/// The event of a new membership, or of a new end of one.
pub(super) const MEMBERSHIP_SET: &str = "membership_set";
/// The event of the end of a membership by an admin or the operator, also by the deletion of the group.
pub(super) const MEMBERSHIP_REMOVED: &str = "membership_removed";

/// The event of an erasure: the usernames and addresses of a deleted user were removed from the record.
pub(crate) const AUDIT_ERASED: &str = "audit_erased";

/// All events that a row of the record can have. The command `audit list` refuses any other name as a filter.
pub(crate) const EVENTS: [&str; 37] = [
    "registered",
    "user_created",
    "user_imported",
    "role_changed",
    "password_changed",
    "password_set",
    "password_link_created",
    "password_set_by_link",
    "second_factor_begun",
    "second_factor_enabled",
    "second_factor_disabled",
    "second_factor_removed",
    "recovery_code_used",
    USER_RENAMED,
    "user_disabled",
    "user_enabled",
    "user_deleted",
    USER_END_SET,
    GROUP_CREATED,
    GROUP_DELETED,
    MEMBERSHIP_SET,
    MEMBERSHIP_REMOVED,
    "tokens_revoked",
    "api_key_created",
    "api_key_deleted",
    "session_created",
    "session_ended",
    "login_ok",
    "login_failed",
    "api_key_refused",
    "password_link_refused",
    "refusals_not_recorded",
    AUDIT_ERASED,
    "audit_pruned",
    "audit_begins",
    "all_ended",
    "restored",
];

/// The events of signing in and out.
const SIGN_INS: [&str; 4] = [
    "login_ok",
    "recovery_code_used",
    "session_created",
    "session_ended",
];

/// The events of refused sign-ins and credentials.
const REFUSALS: [&str; 4] = [
    "login_failed",
    "api_key_refused",
    "password_link_refused",
    "refusals_not_recorded",
];

/// A group of events, by which the record can be filtered. Each event is in one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventGroup {
    SignIns,
    Refusals,
    /// All other events, also those of a newer release.
    Changes,
}

/// The events that a group selects.
pub(crate) enum EventSelection {
    Only(Vec<String>),
    AllExcept(Vec<String>),
}

impl EventGroup {
    pub(crate) fn selection(self) -> EventSelection {
        let names = |events: &[&str]| events.iter().map(|event| (*event).to_owned()).collect();
        match self {
            Self::SignIns => EventSelection::Only(names(&SIGN_INS)),
            Self::Refusals => EventSelection::Only(names(&REFUSALS)),
            Self::Changes => EventSelection::AllExcept(names(&[SIGN_INS, REFUSALS].concat())),
        }
    }
}

/// The events of changes that are sent to the services that follow the changes of users. They keep a user's name, role,
/// state, end and groups, so only changes of these are sent.
pub(super) const PUBLISHED: [&str; 11] = [
    "registered",
    "user_created",
    "user_imported",
    "role_changed",
    USER_RENAMED,
    "user_disabled",
    "user_enabled",
    "user_deleted",
    USER_END_SET,
    MEMBERSHIP_SET,
    MEMBERSHIP_REMOVED,
];

#[cfg(test)]
mod tests {
    use super::{EVENTS, REFUSALS, SIGN_INS};
    use std::collections::BTreeSet;

    #[test]
    fn the_groups_have_different_events_that_exist() {
        let names = [SIGN_INS, REFUSALS].concat();
        let different: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(different.len(), names.len());
        for name in names {
            assert!(EVENTS.contains(&name), "{name}");
        }
    }
}
