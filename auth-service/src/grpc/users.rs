//! The calls by which admins manage users and list the roles, and the call that looks up usernames by id.

use super::{
    AuthGrpc, RpcResult,
    message::{optional_role, timestamp},
};
use crate::{
    accounts::{AccountError, RequestedEnd, UserPage, UserPageRequest, UserUpdateRequest},
    call_origin::CallOrigin,
    store::{SortValue, UserOrder},
    user::ListedUser,
};
use rolegate_grpc_server::Call;
use rolegate_proto::{
    Role,
    auth_v1::{self as wire, update_user_request::End},
    time::ceil_seconds,
};
use std::sync::Arc;

/// Converts a page of users. The response has the times of each user, or how each can sign in, if the caller wants it.
fn user_page(page: UserPage, with_times: bool, with_sign_ins: bool) -> wire::ListUsersResponse {
    let UserPage { users, next, total } = page;
    let mut response = wire::ListUsersResponse {
        total,
        has_groups: true,
        follows_request: true,
        ..wire::ListUsersResponse::default()
    };
    match next {
        Some(cursor) if cursor.value == SortValue::None => response.next_after = Some(cursor.id),
        Some(cursor) => response.next_cursor = cursor.to_string(),
        None => {}
    }
    if with_times {
        response.times = users.iter().map(user_times).collect();
    }
    if with_sign_ins {
        response.sign_ins = users.iter().map(user_sign_in).collect();
    }
    response.users = users.into_iter().map(|listed| listed.user.into()).collect();
    response
}

fn user_times(listed: &ListedUser) -> wire::UserTimes {
    wire::UserTimes {
        created_at: listed.user.created_at.map(timestamp),
        last_login_at: listed.last_login_at.map(timestamp),
    }
}

fn user_sign_in(listed: &ListedUser) -> wire::UserSignIn {
    wire::UserSignIn {
        second_factor: listed.user.second_factor,
        has_password: listed.has_password,
    }
}

impl AuthGrpc {
    pub(super) async fn create_user(
        self: Arc<Self>,
        call: Call,
        message: wire::CreateUserRequest,
    ) -> RpcResult<wire::CreateUserResponse> {
        let role = optional_role(message.role_name, message.role).unwrap_or(Ok(Role::USER));
        let password = match (message.password_link, message.password.is_empty()) {
            (false, _) => Some(message.password.into()),
            (true, true) => None,
            (true, false) => {
                return Err(AccountError::invalid_request(
                    "password must be empty if password_link is set",
                ));
            }
        };
        let created = self
            .services
            .users
            .create_user(
                call.credential(),
                &message.username,
                password,
                role,
                CallOrigin::from(&call),
            )
            .await?;
        Ok(wire::CreateUserResponse {
            user: Some(created.user.into()),
            password_link: created.link.map(Into::into),
        })
    }

    pub(super) async fn get_user(
        self: Arc<Self>,
        call: Call,
        message: wire::GetUserRequest,
    ) -> RpcResult<wire::GetUserResponse> {
        let user = self
            .services
            .users
            .get_user(call.credential(), message.user_id)
            .await?;
        Ok(user.into())
    }

    pub(super) async fn list_users(
        self: Arc<Self>,
        call: Call,
        message: wire::ListUsersRequest,
    ) -> RpcResult<wire::ListUsersResponse> {
        let order = match message.order() {
            wire::UserOrder::Unspecified => UserOrder::Id,
            wire::UserOrder::Username => UserOrder::Username,
            wire::UserOrder::LastLogin => UserOrder::LastLogin,
            wire::UserOrder::Until => UserOrder::Until,
        };
        let request = UserPageRequest {
            size: message.page_size,
            after: message.after,
            cursor: message.cursor,
            order,
            has_unknown_order: wire::UserOrder::try_from(message.order).is_err(),
            descending: message.descending,
            username_prefix: message.username_prefix,
            role: optional_role(message.role_name, message.role),
            disabled: message.disabled,
            search: message.search,
            second_factor: message.second_factor,
            has_password: message.has_password,
            group: message.group_name,
            not_since: message.not_since.map(ceil_seconds),
            ends_before: message.ends_before.map(ceil_seconds),
            with_total: message.with_total,
        };
        let page = self
            .services
            .users
            .list_users(call.credential(), request)
            .await?;
        Ok(user_page(page, message.with_times, message.with_sign_ins))
    }

    pub(super) async fn batch_get_users(
        self: Arc<Self>,
        call: Call,
        message: wire::BatchGetUsersRequest,
    ) -> RpcResult<wire::BatchGetUsersResponse> {
        let actor = call.optional_credential();
        let users = self.services.users.usernames(actor, message.ids).await?;
        let usernames = users.into_iter().map(|user| wire::UserName {
            id: user.id,
            username: user.username,
        });
        Ok(wire::BatchGetUsersResponse {
            users: usernames.collect(),
        })
    }

    pub(super) async fn set_user_role(
        self: Arc<Self>,
        call: Call,
        message: wire::SetUserRoleRequest,
    ) -> RpcResult<wire::SetUserRoleResponse> {
        let role = Role::from_message(&message.role_name, message.role);
        let user = self
            .services
            .users
            .set_user_role(call.credential(), message.user_id, role)
            .await?;
        Ok(user.into())
    }

    pub(super) async fn set_user_disabled(
        self: Arc<Self>,
        call: Call,
        message: wire::SetUserDisabledRequest,
    ) -> RpcResult<wire::SetUserDisabledResponse> {
        let update = wire::UpdateUserRequest {
            user_id: message.user_id,
            disabled: Some(message.disabled),
            ..wire::UpdateUserRequest::default()
        };
        let response = self.update_user(call, update).await?;
        Ok(wire::SetUserDisabledResponse {
            user: response.user,
        })
    }

    pub(super) async fn update_user(
        self: Arc<Self>,
        call: Call,
        message: wire::UpdateUserRequest,
    ) -> RpcResult<wire::UpdateUserResponse> {
        let update = UserUpdateRequest {
            username: message.username.as_deref(),
            disabled: message.disabled,
            end: message.end.map(|end| match end {
                End::Until(time) => RequestedEnd::At(time.seconds),
                End::NoEnd(_) => RequestedEnd::Never,
            }),
        };
        let user = self
            .services
            .users
            .update_user(call.credential(), message.user_id, update)
            .await?;
        Ok(user.into())
    }

    pub(super) async fn delete_user(
        self: Arc<Self>,
        call: Call,
        message: wire::DeleteUserRequest,
    ) -> RpcResult<wire::DeleteUserResponse> {
        let user = self
            .services
            .users
            .delete_user(call.credential(), message.user_id)
            .await?;
        Ok(user.into())
    }

    pub(super) async fn list_roles(
        self: Arc<Self>,
        call: Call,
        _: wire::ListRolesRequest,
    ) -> RpcResult<wire::ListRolesResponse> {
        let roles = self.services.users.list_roles(call.credential()).await?;
        let role_names = roles.into_iter().map(|role| role.to_string()).collect();
        Ok(wire::ListRolesResponse { role_names })
    }
}
