//! The calls that manage groups and memberships.

use super::{AuthGrpc, RpcResult};
use crate::{
    accounts::{Page, PageRequest, RequestedEnd, RequestedMembership},
    group::{Group, Member, UserGroup},
};
use prost_types::Timestamp;
use rolegate_grpc_server::Call;
use rolegate_proto::auth_v1 as wire;
use std::sync::Arc;

impl AuthGrpc {
    pub(super) async fn create_group(
        self: Arc<Self>,
        call: Call,
        message: wire::CreateGroupRequest,
    ) -> RpcResult<wire::CreateGroupResponse> {
        let groups = &self.services.groups;
        let created = groups
            .create_group(call.credential(), &message.name)
            .await?;
        Ok(wire::CreateGroupResponse {
            group: Some(created.into()),
        })
    }

    pub(super) async fn list_groups(
        self: Arc<Self>,
        call: Call,
        message: wire::ListGroupsRequest,
    ) -> RpcResult<wire::ListGroupsResponse> {
        let request = PageRequest {
            size: message.page_size,
            after: message.after,
        };
        let groups = &self.services.groups;
        let Page { items, next_after } = groups.list_groups(call.credential(), request).await?;
        Ok(wire::ListGroupsResponse {
            groups: items.into_iter().map(Into::into).collect(),
            next_after,
        })
    }

    pub(super) async fn get_group(
        self: Arc<Self>,
        call: Call,
        message: wire::GetGroupRequest,
    ) -> RpcResult<wire::GetGroupResponse> {
        let groups = &self.services.groups;
        let found = groups
            .get_group(call.credential(), message.group_id)
            .await?;
        Ok(wire::GetGroupResponse {
            group: Some(found.into()),
        })
    }

    pub(super) async fn delete_group(
        self: Arc<Self>,
        call: Call,
        message: wire::DeleteGroupRequest,
    ) -> RpcResult<wire::DeleteGroupResponse> {
        let groups = &self.services.groups;
        let deleted = groups
            .delete_group(call.credential(), message.group_id)
            .await?;
        Ok(wire::DeleteGroupResponse {
            group: Some(deleted.into()),
        })
    }

    pub(super) async fn list_members(
        self: Arc<Self>,
        call: Call,
        message: wire::ListMembersRequest,
    ) -> RpcResult<wire::ListMembersResponse> {
        let request = PageRequest {
            size: message.page_size,
            after: message.after,
        };
        let groups = &self.services.groups;
        let Page { items, next_after } = groups
            .list_members(call.credential(), message.group_id, request)
            .await?;
        Ok(wire::ListMembersResponse {
            members: items.into_iter().map(Into::into).collect(),
            next_after,
        })
    }

    pub(super) async fn set_membership(
        self: Arc<Self>,
        call: Call,
        message: wire::SetMembershipRequest,
    ) -> RpcResult<wire::SetMembershipResponse> {
        let end = match message.until {
            Some(time) => RequestedEnd::At(time.seconds),
            None => RequestedEnd::Never,
        };
        let to = RequestedMembership::Until(end);
        let groups = &self.services.groups;
        groups
            .set_membership(call.credential(), message.group_id, message.user_id, to)
            .await?;
        Ok(wire::SetMembershipResponse {})
    }

    pub(super) async fn delete_membership(
        self: Arc<Self>,
        call: Call,
        message: wire::DeleteMembershipRequest,
    ) -> RpcResult<wire::DeleteMembershipResponse> {
        let to = RequestedMembership::Removed;
        let groups = &self.services.groups;
        groups
            .set_membership(call.credential(), message.group_id, message.user_id, to)
            .await?;
        Ok(wire::DeleteMembershipResponse {})
    }

    pub(super) async fn list_user_groups(
        self: Arc<Self>,
        call: Call,
        message: wire::ListUserGroupsRequest,
    ) -> RpcResult<wire::ListUserGroupsResponse> {
        let groups = self
            .services
            .groups
            .list_user_groups(call.credential(), message.user_id)
            .await?;
        Ok(wire::ListUserGroupsResponse {
            groups: groups.into_iter().map(Into::into).collect(),
        })
    }
}

impl From<Group> for wire::Group {
    fn from(group: Group) -> Self {
        Self {
            id: group.id,
            name: group.name,
            members: group.members,
        }
    }
}

impl From<Member> for wire::Member {
    fn from(member: Member) -> Self {
        Self {
            user_id: member.user_id,
            username: member.username,
            until: member.until.map(stored_time),
        }
    }
}

impl From<UserGroup> for wire::UserGroup {
    fn from(group: UserGroup) -> Self {
        Self {
            id: group.id,
            name: group.name,
            until: group.until.map(stored_time),
        }
    }
}

fn stored_time(seconds: i64) -> Timestamp {
    Timestamp { seconds, nanos: 0 }
}
