//! The calls by which admins manage users and list the roles, and the call that looks up usernames by id.

use super::{
    AuthGrpc, RpcResult,
    call_origin::read_origin,
    message::{self, optional_role},
    passwords::password_link_message,
};
use crate::accounts::UserUpdateRequest;
use rolegate_grpc_server::actor;
use rolegate_proto::{Role, auth_v1 as wire};
use tonic::Request;

impl AuthGrpc {
    pub(super) async fn create_user(
        &self,
        request: Request<wire::CreateUserRequest>,
    ) -> RpcResult<wire::CreateUserResponse> {
        let origin = read_origin(&request);
        let (metadata, _, message) = request.into_parts();
        let wire::CreateUserRequest {
            username,
            password,
            role,
            role_name,
            password_link,
        } = message;
        let role = optional_role(role_name, role).unwrap_or(Ok(Role::USER));
        let password = (!password_link).then(|| password.into());
        let actor = actor::token(&metadata);
        let created = self
            .accounts
            .create_user(actor, &username, password, role, origin)
            .await?;
        Ok(wire::CreateUserResponse {
            user: Some(created.user.into()),
            password_link: created.link.as_ref().map(password_link_message),
        })
    }

    pub(super) async fn get_user(
        &self,
        request: Request<wire::GetUserRequest>,
    ) -> RpcResult<wire::GetUserResponse> {
        let actor = actor::token(request.metadata());
        let user = self
            .accounts
            .get_user(actor, request.get_ref().user_id)
            .await?;
        Ok(wire::GetUserResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn list_users(
        &self,
        request: Request<wire::ListUsersRequest>,
    ) -> RpcResult<wire::ListUsersResponse> {
        let (metadata, _, message) = request.into_parts();
        let with_times = message.with_times;
        let page = self
            .accounts
            .list_users(actor::token(&metadata), message.into())
            .await?;
        Ok(message::list_users_response(page, with_times))
    }

    pub(super) async fn batch_get_users(
        &self,
        request: Request<wire::BatchGetUsersRequest>,
    ) -> RpcResult<wire::BatchGetUsersResponse> {
        let (metadata, _, wire::BatchGetUsersRequest { ids }) = request.into_parts();
        let users = self
            .accounts
            .usernames(actor::optional_token(&metadata), ids)
            .await?;
        let users = users.into_iter().map(Into::into).collect();
        Ok(wire::BatchGetUsersResponse { users })
    }

    pub(super) async fn set_user_role(
        &self,
        request: Request<wire::SetUserRoleRequest>,
    ) -> RpcResult<wire::SetUserRoleResponse> {
        let wire::SetUserRoleRequest {
            user_id,
            role,
            role_name,
        } = request.get_ref();
        let role = Role::from_message(role_name, *role);
        let actor = actor::token(request.metadata());
        let user = self.accounts.set_user_role(actor, *user_id, role).await?;
        Ok(wire::SetUserRoleResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn set_user_disabled(
        &self,
        request: Request<wire::SetUserDisabledRequest>,
    ) -> RpcResult<wire::SetUserDisabledResponse> {
        let wire::SetUserDisabledRequest { user_id, disabled } = *request.get_ref();
        let actor = actor::token(request.metadata());
        let update = UserUpdateRequest {
            username: None,
            disabled: Some(disabled),
        };
        let user = self.accounts.update_user(actor, user_id, update).await?;
        Ok(wire::SetUserDisabledResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn update_user(
        &self,
        request: Request<wire::UpdateUserRequest>,
    ) -> RpcResult<wire::UpdateUserResponse> {
        let message = request.get_ref();
        let update = UserUpdateRequest {
            username: message.username.as_deref(),
            disabled: message.disabled,
        };
        let actor = actor::token(request.metadata());
        let user = self
            .accounts
            .update_user(actor, message.user_id, update)
            .await?;
        Ok(wire::UpdateUserResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn delete_user(
        &self,
        request: Request<wire::DeleteUserRequest>,
    ) -> RpcResult<wire::DeleteUserResponse> {
        let actor = actor::token(request.metadata());
        let user = self
            .accounts
            .delete_user(actor, request.get_ref().user_id)
            .await?;
        Ok(wire::DeleteUserResponse {
            user: Some(user.into()),
        })
    }

    pub(super) async fn list_roles(
        &self,
        request: Request<wire::ListRolesRequest>,
    ) -> RpcResult<wire::ListRolesResponse> {
        let roles = self
            .accounts
            .list_roles(actor::token(request.metadata()))
            .await?;
        let role_names = roles.into_iter().map(|role| role.to_string()).collect();
        Ok(wire::ListRolesResponse { role_names })
    }
}
