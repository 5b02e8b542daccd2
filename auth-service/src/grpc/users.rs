//! The calls by which admins manage users and list the roles, and the call that looks up usernames by id.

use super::{
    AuthGrpc, RpcResult,
    message::{self, optional_role},
};
use crate::{
    accounts::{AccountError, RequestedEnd, UserPageRequest, UserUpdateRequest},
    call_origin::CallOrigin,
};
use rolegate_grpc_server::Call;
use rolegate_proto::{
    Role,
    auth_v1::{self as wire, update_user_request::End},
};
use std::sync::Arc;

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
        let request = UserPageRequest {
            size: message.page_size,
            after: message.after,
            username_prefix: message.username_prefix,
            role: optional_role(message.role_name, message.role),
            disabled: message.disabled,
            search: message.search,
        };
        let page = self
            .services
            .users
            .list_users(call.credential(), request)
            .await?;
        Ok(message::list_users_response(page, message.with_times))
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
