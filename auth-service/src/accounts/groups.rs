//! Creates, lists and deletes groups, and changes the memberships of users.

use super::{
    access_end::RequestedEnd,
    authorizer::Authorizer,
    changes::Changes,
    error::AccountError,
    paging::{Page, PageRequest},
    policy::{Policy, Requirement},
};
use crate::{
    change::{Change, GroupChange},
    group::{Group, Member, Membership, UserGroup},
    principal::Principal,
    roles::Roles,
    store::UserStore,
};
use rolegate_proto::{GroupName, Reason};
use std::sync::Arc;

/// The membership that a request asks for.
pub(crate) enum RequestedMembership {
    /// The user is not in the group.
    Removed,
    /// The user is in the group until this end.
    Until(RequestedEnd),
}

/// Manages groups and memberships.
pub(crate) struct Groups {
    pub(super) store: Arc<UserStore>,
    pub(super) authorizer: Arc<Authorizer>,
    pub(super) changes: Changes,
    pub(super) policy: Arc<Policy>,
}

impl Groups {
    /// Creates a group without members; the actor must be an admin.
    pub(crate) async fn create_group(
        &self,
        credential: &str,
        name: &str,
    ) -> Result<Group, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        let name = check_group_name(name, &self.policy.roles)?;
        let create = GroupChange::Create { name };
        let created = self.changes.apply_to_group(Principal::Admin(actor), create);
        Ok(created.await?)
    }

    /// Deletes a group and its memberships, and returns the group as it was; the actor must be an admin. Fails if API
    /// keys name the group.
    pub(crate) async fn delete_group(
        &self,
        credential: &str,
        group_id: i64,
    ) -> Result<Group, AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        let delete = GroupChange::Delete { group_id };
        let deleted = self.changes.apply_to_group(Principal::Admin(actor), delete);
        Ok(deleted.await?)
    }

    /// Returns the group with this id; the actor must be an admin.
    pub(crate) async fn get_group(
        &self,
        credential: &str,
        group_id: i64,
    ) -> Result<Group, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        let found = self.store.group(group_id).await?;
        Ok(found.ok_or(Reason::GroupNotFound)?)
    }

    /// Lists groups by ascending id; the actor must be an admin.
    pub(crate) async fn list_groups(
        &self,
        credential: &str,
        page: PageRequest,
    ) -> Result<Page<Group>, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        let limit = page.limit()?;
        let groups = self.store.groups_after(page.after, limit).await?;
        Ok(Page::cut(groups, limit, |group| group.id))
    }

    /// Lists the members of a group by ascending user id; the actor must be an admin.
    pub(crate) async fn list_members(
        &self,
        credential: &str,
        group_id: i64,
        page: PageRequest,
    ) -> Result<Page<Member>, AccountError> {
        self.authorizer.authorize_admin(credential).await?;
        let limit = page.limit()?;
        let group = self.find_group_name(group_id).await?;
        let members = self.store.members_after(&group, page.after, limit).await?;
        Ok(Page::cut(members, limit, |member| member.user_id))
    }

    /// Adds a user to a group, replaces the end of the membership, or removes the user from the group; the actor must
    /// be an admin. With an API key, admins cannot change the memberships of their own user, because a leaked key must not
    /// give its user more access.
    pub(crate) async fn set_membership(
        &self,
        credential: &str,
        group_id: i64,
        user_id: i64,
        to: RequestedMembership,
    ) -> Result<(), AccountError> {
        let actor = self.authorizer.authorize_admin(credential).await?;
        actor.refuse_own_key(user_id)?;
        let group = self.find_group_name(group_id).await?;
        let group: GroupName = group.parse().map_err(AccountError::internal)?;
        let from = self.authorizer.find_user(user_id).await?.membership(group);
        let to = match to {
            RequestedMembership::Removed => None,
            RequestedMembership::Until(end) => Some(Membership {
                group,
                until: end.check(actor.at)?,
            }),
        };
        let change = Change::SetMembership {
            user_id,
            group,
            from,
            to,
        };
        self.changes.apply(Principal::Admin(actor), change).await?;
        Ok(())
    }

    /// Lists the groups of the actor by ascending id, as far as the credential has them. With a user id, lists the
    /// groups of that user; the actor must then be an admin.
    pub(crate) async fn list_user_groups(
        &self,
        credential: &str,
        user_id: Option<i64>,
    ) -> Result<Vec<UserGroup>, AccountError> {
        let requirement = Requirement::to_act_on(user_id);
        let actor = self.authorizer.authorize(credential, &requirement).await?;
        let Some(user_id) = user_id else {
            let names = actor.user.group_names();
            let mut groups = self.store.groups_of_user(actor.user.id).await?;
            groups.retain(|group| names.contains(&group.name));
            return Ok(groups);
        };
        self.authorizer.find_user(user_id).await?;
        Ok(self.store.groups_of_user(user_id).await?)
    }

    async fn find_group_name(&self, group_id: i64) -> Result<String, AccountError> {
        let found = self.store.group_name(group_id).await?;
        Ok(found.ok_or(Reason::GroupNotFound)?)
    }
}

/// Checks the name of a new group.
pub(crate) fn check_group_name(name: &str, roles: &Roles) -> Result<GroupName, AccountError> {
    let broken = |rule| AccountError::invalid(Reason::GroupInvalid, rule);
    if roles.find(name).is_some() {
        return Err(broken("Group name must not be the name of a role."));
    }
    name.parse().map_err(|_| {
        broken(
            "Group name must begin with a letter from a to z, and have at most 32 characters, \
             each one of a-z, 0-9, _ and -.",
        )
    })
}
