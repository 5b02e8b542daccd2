//! The entries of changes of groups.

use super::Requested;
use crate::{
    audit::{
        Entry,
        events::{GROUP_CREATED, GROUP_DELETED, MEMBERSHIP_REMOVED},
    },
    change::GroupChange,
    group::Group,
};
use serde_json::json;

impl Requested<GroupChange> {
    fn event(&self) -> &'static str {
        match self.change {
            GroupChange::Create { .. } => GROUP_CREATED,
            GroupChange::Delete { .. } => GROUP_DELETED,
        }
    }

    /// Returns the entry of the change of this group, which is about no single user.
    pub(crate) fn entry_for_group(&self, group: &Group) -> Entry {
        let mut details = json!({ "group": group.name, "group_id": group.id });
        if let GroupChange::Delete { .. } = self.change {
            details["members"] = group.members.into();
        }
        self.entry(self.event(), None, None, details)
    }

    /// Returns the entry of a membership that ends because this group is deleted. The store completes it for each
    /// member.
    pub(crate) fn entry_for_removed_members(&self, group: &Group) -> Entry {
        self.entry(
            MEMBERSHIP_REMOVED,
            None,
            None,
            json!({ "group": group.name }),
        )
    }

    pub(crate) fn log_outcome_unknown(&self) {
        self.log_unknown_outcome(self.event(), None);
    }
}
