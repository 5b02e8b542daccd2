//! The plan that changes a membership.

use super::{credentials::TOUCH, plan::Plan};
use crate::{
    group::Membership,
    store::{
        WriteError,
        locked_rows::AdminCount,
        user_store::{
            UserStore,
            encoding::{encode_count, encode_seconds},
            groups::push_groups_exist,
            locked_writes::Guard,
        },
    },
    user::is_in_force,
};
use rolegate_proto::{GroupName, limits::MAX_GROUPS};

/// Continues a condition: the user `$1` is in the group `$2`.
const IS_MEMBER: &str = concat!(
    " AND EXISTS (SELECT 1 FROM membership WHERE user_id = $1 AND group_name = $2 AND ",
    is_in_force!(),
    ")"
);

/// Continues a condition with the number of other groups that the user `$1` is in.
const OTHER_GROUPS: &str = concat!(
    " AND (SELECT count(*) FROM membership WHERE user_id = $1 AND group_name <> $2 AND ",
    is_in_force!(),
    ")"
);

impl UserStore {
    pub(super) fn set_membership(
        &self,
        user_id: i64,
        group: GroupName,
        to: Option<Membership>,
    ) -> Plan {
        let guard = Guard::Admins(user_id, AdminCount::Kept);
        let touch = self
            .database
            .statement(TOUCH)
            .bind(user_id)
            .bind(group.as_str());
        let touch = push_groups_exist(touch, &[group]);
        let remove = self
            .database
            .statement(
                "DELETE FROM membership WHERE user_id = $1 AND (group_name = $2 OR until <= $NOW)",
            )
            .bind(user_id)
            .bind(group.as_str());
        let Some(membership) = to else {
            return Plan {
                nothing_changed: WriteError::MembershipNotFound,
                ..Plan::new(guard, touch.push(IS_MEMBER)).then([remove])
            };
        };
        let touch = touch
            .push(OTHER_GROUPS)
            .push(" < ")
            .push_bind(encode_count(MAX_GROUPS));
        let insert = self
            .database
            .statement("INSERT INTO membership (user_id, group_name, until) VALUES ($1, $2, $3)")
            .bind(user_id)
            .bind(group.as_str())
            .bind(membership.until.map(encode_seconds));
        Plan {
            nothing_changed: WriteError::GroupLimit,
            ..Plan::new(guard, touch).then([remove, insert])
        }
    }
}
