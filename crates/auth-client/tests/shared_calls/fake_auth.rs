//! An auth-service that answers when the test allows it.

use rolegate_proto::auth_v1::{
    self as proto, AuthorizeOutcome, AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest,
    BatchAuthorizeResponse, ListUsersRequest, ListUsersResponse, LoginRequest, LoginResponse,
    RegisterRequest, RegisterResponse, SetUserRoleRequest, SetUserRoleResponse,
    VerifyCredentialsRequest, VerifyCredentialsResponse, auth_service_server::AuthService,
    authorize_outcome::Outcome,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::AtomicI32, atomic::Ordering},
};
use tokio::sync::Semaphore;
use tonic::{Request, Response, Status};

/// Answers when the test allows it. A token is the id of its user; others are invalid.
#[derive(Clone, Default)]
pub(crate) struct FakeAuth {
    pub(crate) role: Arc<AtomicI32>,
    may_answer: Arc<Gate>,
    /// The number of items of each call; 0 for an `Authorize`.
    pub(crate) calls: Arc<Mutex<Vec<usize>>>,
    pub(crate) outages: Arc<AtomicI32>,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl FakeAuth {
    fn decide(token: &str, role: i32) -> Outcome {
        match token.parse() {
            Ok(id) => {
                let username = format!("user {id}");
                Outcome::User(proto::User { id, username, role, ..proto::User::default() })
            }
            Err(_) => Outcome::RefusalReason("TOKEN_INVALID".to_owned()),
        }
    }

    /// Reads the role when the call arrives, as a query would.
    async fn call(&self, size: usize) -> Result<i32, Status> {
        let role = self.role.load(Ordering::SeqCst);
        self.calls.lock().expect("no panic").push(size);
        if self.outages.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Err(Status::unavailable("this replica is down"));
        }
        self.may_answer.0.acquire().await.expect("open").forget();
        Ok(role)
    }
}

#[tonic::async_trait]
impl AuthService for FakeAuth {
    async fn authorize(
        &self,
        request: Request<AuthorizeRequest>,
    ) -> Result<Response<AuthorizeResponse>, Status> {
        let role = self.call(0).await?;
        match Self::decide(&request.into_inner().access_token, role) {
            Outcome::User(user) => Ok(Response::new(AuthorizeResponse { user: Some(user) })),
            Outcome::RefusalReason(reason) => {
                use tonic_types::StatusExt as _;
                let info =
                    tonic_types::ErrorDetails::with_error_info(reason, "rolegate", HashMap::new());
                Err(Status::with_error_details(tonic::Code::Unauthenticated, "no", info))
            }
        }
    }

    async fn batch_authorize(
        &self,
        request: Request<BatchAuthorizeRequest>,
    ) -> Result<Response<BatchAuthorizeResponse>, Status> {
        let items = request.into_inner().items;
        let role = self.call(items.len()).await?;
        let decide = |item: AuthorizeRequest| Self::decide(&item.access_token, role);
        let outcomes = items.into_iter().map(decide);
        let outcomes = outcomes.map(|outcome| AuthorizeOutcome { outcome: Some(outcome) });
        Ok(Response::new(BatchAuthorizeResponse { outcomes: outcomes.collect() }))
    }

    async fn register(
        &self,
        _: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        self.call(0).await?;
        Ok(Response::new(RegisterResponse { user: None }))
    }

    async fn login(&self, _: Request<LoginRequest>) -> Result<Response<LoginResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn verify_credentials(
        &self,
        _: Request<VerifyCredentialsRequest>,
    ) -> Result<Response<VerifyCredentialsResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn create_user(
        &self,
        _: Request<proto::CreateUserRequest>,
    ) -> Result<Response<proto::CreateUserResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn set_user_disabled(
        &self,
        _: Request<proto::SetUserDisabledRequest>,
    ) -> Result<Response<proto::SetUserDisabledResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn set_user_role(
        &self,
        _: Request<SetUserRoleRequest>,
    ) -> Result<Response<SetUserRoleResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn list_users(
        &self,
        _: Request<ListUsersRequest>,
    ) -> Result<Response<ListUsersResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn get_user(
        &self,
        _: Request<proto::GetUserRequest>,
    ) -> Result<Response<proto::GetUserResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn delete_user(
        &self,
        _: Request<proto::DeleteUserRequest>,
    ) -> Result<Response<proto::DeleteUserResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn set_password(
        &self,
        _: Request<proto::SetPasswordRequest>,
    ) -> Result<Response<proto::SetPasswordResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn change_password(
        &self,
        _: Request<proto::ChangePasswordRequest>,
    ) -> Result<Response<proto::ChangePasswordResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn revoke_tokens(
        &self,
        _: Request<proto::RevokeTokensRequest>,
    ) -> Result<Response<proto::RevokeTokensResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn create_api_key(
        &self,
        _: Request<proto::CreateApiKeyRequest>,
    ) -> Result<Response<proto::CreateApiKeyResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn list_api_keys(
        &self,
        _: Request<proto::ListApiKeysRequest>,
    ) -> Result<Response<proto::ListApiKeysResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn delete_api_keys(
        &self,
        _: Request<proto::DeleteApiKeysRequest>,
    ) -> Result<Response<proto::DeleteApiKeysResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn create_session(
        &self,
        _: Request<proto::CreateSessionRequest>,
    ) -> Result<Response<proto::CreateSessionResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn list_sessions(
        &self,
        _: Request<proto::ListSessionsRequest>,
    ) -> Result<Response<proto::ListSessionsResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn delete_sessions(
        &self,
        _: Request<proto::DeleteSessionsRequest>,
    ) -> Result<Response<proto::DeleteSessionsResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn get_current_user(
        &self,
        _: Request<proto::GetCurrentUserRequest>,
    ) -> Result<Response<proto::GetCurrentUserResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn list_roles(
        &self,
        _: Request<proto::ListRolesRequest>,
    ) -> Result<Response<proto::ListRolesResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn batch_get_users(
        &self,
        _: Request<proto::BatchGetUsersRequest>,
    ) -> Result<Response<proto::BatchGetUsersResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }
}

impl FakeAuth {
    /// Waits for this many calls.
    pub(crate) async fn wait_for_calls(&self, count: usize) -> Vec<usize> {
        loop {
            let calls = self.calls.lock().expect("no panic").clone();
            if calls.len() >= count {
                return calls;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn answer(&self, calls: usize) {
        self.may_answer.0.add_permits(calls);
    }
}
