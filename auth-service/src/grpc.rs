//! The transport: messages into use cases, outcomes into messages and statuses.
//!
//! One file per call, none of which decides anything.

mod authorize;
mod batch_authorize;
mod batch_get_users;
mod change_password;
mod delete_user;
mod get_user;
mod list_users;
mod login;
mod message;
mod register;
mod request_origin;
mod set_password;
mod set_user_role;
mod status;
mod verify_credentials;

use crate::{accounts::Accounts, request_origin::RequestOrigin};
use rolegate_grpc_server::actor;
use rolegate_proto::auth_v1::{
    AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest, BatchAuthorizeResponse,
    BatchGetUsersRequest, BatchGetUsersResponse, ChangePasswordRequest, ChangePasswordResponse,
    DeleteUserRequest, DeleteUserResponse, GetUserRequest, GetUserResponse, ListUsersRequest,
    ListUsersResponse, LoginRequest, LoginResponse, RegisterRequest, RegisterResponse,
    SetPasswordRequest, SetPasswordResponse, SetUserRoleRequest, SetUserRoleResponse,
    VerifyCredentialsRequest, VerifyCredentialsResponse, auth_service_server::AuthService,
};
use rolegate_service_runtime::cidr_set::CidrSet;
use tonic::{Request, Response, Status};

/// `rolegate.auth.v1.AuthService` over the use cases.
#[derive(Clone)]
pub struct AuthGrpc {
    accounts: Accounts,
    trusted_gateways: CidrSet,
}

impl AuthGrpc {
    /// Serves these use cases; `trusted_gateways` are believed when they name the end user's
    /// address.
    #[must_use]
    pub fn new(accounts: Accounts, trusted_gateways: CidrSet) -> Self {
        Self { accounts, trusted_gateways }
    }

    fn origin<M>(&self, request: &Request<M>) -> RequestOrigin {
        request_origin::from_request(request, &self.trusted_gateways)
    }
}

type RpcResult<M> = Result<Response<M>, Status>;

#[tonic::async_trait]
impl AuthService for AuthGrpc {
    async fn register(&self, request: Request<RegisterRequest>) -> RpcResult<RegisterResponse> {
        let origin = self.origin(&request);
        register::call(&self.accounts, request.into_inner(), origin).await
    }

    async fn login(&self, request: Request<LoginRequest>) -> RpcResult<LoginResponse> {
        let origin = self.origin(&request);
        login::call(&self.accounts, request.into_inner(), origin).await
    }

    async fn verify_credentials(
        &self,
        request: Request<VerifyCredentialsRequest>,
    ) -> RpcResult<VerifyCredentialsResponse> {
        let origin = self.origin(&request);
        verify_credentials::call(&self.accounts, request.into_inner(), origin).await
    }

    async fn authorize(&self, request: Request<AuthorizeRequest>) -> RpcResult<AuthorizeResponse> {
        authorize::call(&self.accounts, request).await
    }

    async fn batch_authorize(
        &self,
        request: Request<BatchAuthorizeRequest>,
    ) -> RpcResult<BatchAuthorizeResponse> {
        batch_authorize::call(&self.accounts, request).await
    }

    async fn set_user_role(
        &self,
        request: Request<SetUserRoleRequest>,
    ) -> RpcResult<SetUserRoleResponse> {
        set_user_role::call(&self.accounts, request).await
    }

    async fn list_users(&self, request: Request<ListUsersRequest>) -> RpcResult<ListUsersResponse> {
        list_users::call(&self.accounts, request).await
    }

    async fn get_user(&self, request: Request<GetUserRequest>) -> RpcResult<GetUserResponse> {
        get_user::call(&self.accounts, request).await
    }

    async fn delete_user(
        &self,
        request: Request<DeleteUserRequest>,
    ) -> RpcResult<DeleteUserResponse> {
        delete_user::call(&self.accounts, request).await
    }

    async fn set_password(
        &self,
        request: Request<SetPasswordRequest>,
    ) -> RpcResult<SetPasswordResponse> {
        let origin = self.origin(&request);
        set_password::call(&self.accounts, request, origin).await
    }

    async fn change_password(
        &self,
        request: Request<ChangePasswordRequest>,
    ) -> RpcResult<ChangePasswordResponse> {
        let origin = self.origin(&request);
        change_password::call(&self.accounts, request, origin).await
    }

    async fn batch_get_users(
        &self,
        request: Request<BatchGetUsersRequest>,
    ) -> RpcResult<BatchGetUsersResponse> {
        batch_get_users::call(&self.accounts, request).await
    }
}
