//! The transport: messages into use cases, outcomes into messages and statuses.
//!
//! One file per call, none of which decides anything.

mod actor;
mod authorize;
mod batch_authorize;
mod list_users;
mod login;
mod message;
mod register;
mod set_user_role;
mod status;
mod verify_credentials;

use crate::accounts::Accounts;
use auth_proto::auth_v1::{
    AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest, BatchAuthorizeResponse,
    ListUsersRequest, ListUsersResponse, LoginRequest, LoginResponse, RegisterRequest,
    RegisterResponse, SetUserRoleRequest, SetUserRoleResponse, VerifyCredentialsRequest,
    VerifyCredentialsResponse, auth_service_server::AuthService,
};
use tonic::{Request, Response, Status};

/// `rolegate.auth.v1.AuthService` over the use cases.
#[derive(Clone)]
pub struct AuthGrpc {
    accounts: Accounts,
}

impl AuthGrpc {
    /// Serves these use cases.
    #[must_use]
    pub fn new(accounts: Accounts) -> Self {
        Self { accounts }
    }
}

type Answer<M> = Result<Response<M>, Status>;

#[tonic::async_trait]
impl AuthService for AuthGrpc {
    async fn register(&self, request: Request<RegisterRequest>) -> Answer<RegisterResponse> {
        register::call(&self.accounts, request).await
    }

    async fn login(&self, request: Request<LoginRequest>) -> Answer<LoginResponse> {
        login::call(&self.accounts, request).await
    }

    async fn verify_credentials(
        &self,
        request: Request<VerifyCredentialsRequest>,
    ) -> Answer<VerifyCredentialsResponse> {
        verify_credentials::call(&self.accounts, request).await
    }

    async fn authorize(&self, request: Request<AuthorizeRequest>) -> Answer<AuthorizeResponse> {
        authorize::call(&self.accounts, request).await
    }

    async fn batch_authorize(
        &self,
        request: Request<BatchAuthorizeRequest>,
    ) -> Answer<BatchAuthorizeResponse> {
        batch_authorize::call(&self.accounts, request).await
    }

    async fn set_user_role(
        &self,
        request: Request<SetUserRoleRequest>,
    ) -> Answer<SetUserRoleResponse> {
        set_user_role::call(&self.accounts, request).await
    }

    async fn list_users(&self, request: Request<ListUsersRequest>) -> Answer<ListUsersResponse> {
        list_users::call(&self.accounts, request).await
    }
}
