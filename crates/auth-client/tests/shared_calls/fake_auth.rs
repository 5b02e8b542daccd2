//! A fake auth-service that answers calls only after the test allows it.

use rolegate_proto::auth_v1::{
    self as proto, AuthorizeOutcome, AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest,
    BatchAuthorizeResponse, ListUsersRequest, ListUsersResponse, LoginRequest, LoginResponse,
    RegisterRequest, RegisterResponse, SetUserRoleRequest, SetUserRoleResponse,
    VerifyCredentialsRequest, VerifyCredentialsResponse, auth_service_server::AuthService,
    authorize_outcome::Outcome,
};
use std::{
    collections::{HashMap, VecDeque},
    pin::Pin,
    sync::{Arc, Mutex, atomic::AtomicI32, atomic::Ordering},
    time::Duration,
};
use tokio::{sync::Semaphore, time::Instant};
use tokio_stream::{Stream, iter, pending};
use tonic::{Request, Response, Status};
use tonic_types::{ErrorDetails, StatusExt as _};

/// A fake auth-service. A token is the id of its user; any other token is invalid.
#[derive(Clone, Default)]
pub(crate) struct FakeAuth {
    pub(crate) role: Arc<AtomicI32>,
    may_answer: Arc<Gate>,
    /// The number of items of each call; 0 for an `Authorize`.
    pub(crate) calls: Arc<Mutex<Vec<usize>>>,
    pub(crate) outages: Arc<AtomicI32>,
    pub(crate) credentials: Arc<Credentials>,
    pub(crate) watching: Arc<Watching>,
}

pub(crate) type Streamed = Result<proto::WatchUsersResponse, Status>;

/// The streams of user changes: what they send, and which calls opened them.
#[derive(Default)]
pub(crate) struct Watching {
    /// The items that each stream sends before it ends. Any further stream hangs. If the only item is an error,
    /// the call itself fails with it.
    pub(crate) streams: Mutex<VecDeque<Vec<Streamed>>>,
    /// The revision that each call requested, and the time of the call.
    pub(crate) calls: Mutex<Vec<(Option<i64>, Instant)>>,
    /// The seal that each call sent.
    pub(crate) seals: Mutex<Vec<Option<String>>>,
}

/// Decides how credentials are checked. The password `right` is correct and cached. The password `slow` is
/// correct, but its check ends only after the test allows it.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) memory: Mutex<Memory>,
    may_hash: Gate,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub(crate) enum Memory {
    #[default]
    Remembers,
    Forgets,
    /// Has nothing in its cache, and refuses each check with a delay of seven seconds before a retry.
    Refuses,
    /// Does not have the call for batches.
    IsOld,
    /// Leaves out an outcome of each batch.
    IsBroken,
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
                Outcome::User(proto::User {
                    id,
                    username,
                    role,
                    ..proto::User::default()
                })
            }
            Err(_) => Outcome::RefusalReason("TOKEN_INVALID".to_owned()),
        }
    }

    fn user_of(credentials: &VerifyCredentialsRequest) -> Option<proto::User> {
        let username = credentials.username.clone();
        let user = proto::User {
            id: 1,
            username,
            role: 1,
            ..proto::User::default()
        };
        let is_right = match &*credentials.password {
            "key" => credentials.accept_api_keys,
            password => ["right", "slow"].contains(&password),
        };
        is_right.then_some(user)
    }

    fn memory(&self) -> Memory {
        *self.credentials.memory.lock().expect("no panic")
    }

    /// Records the call, and returns the role once the test allows an answer. Like a query, it reads the role
    /// when the call arrives.
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

pub(crate) fn refused(reason: &str) -> Status {
    let info = ErrorDetails::with_error_info(reason, "rolegate", HashMap::new());
    Status::with_error_details(tonic::Code::Unauthenticated, "no", info)
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
            Outcome::RefusalReason(reason) => Err(refused(&reason)),
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
        let outcomes = outcomes.map(|outcome| AuthorizeOutcome {
            outcome: Some(outcome),
        });
        Ok(Response::new(BatchAuthorizeResponse {
            outcomes: outcomes.collect(),
        }))
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
        request: Request<VerifyCredentialsRequest>,
    ) -> Result<Response<VerifyCredentialsResponse>, Status> {
        let memory = self.memory();
        self.calls.lock().expect("no panic").push(0);
        assert_eq!(
            request.get_ref().client_address,
            None,
            "it is in the metadata"
        );
        if request.get_ref().password == "slow" {
            self.credentials
                .may_hash
                .0
                .acquire()
                .await
                .expect("open")
                .forget();
        }
        match Self::user_of(request.get_ref()) {
            _ if memory == Memory::Refuses => {
                let reason = "TOO_MANY_ATTEMPTS";
                let mut details = ErrorDetails::with_error_info(reason, "rolegate", HashMap::new());
                details.set_retry_info(Some(Duration::from_secs(7)));
                Err(Status::with_error_details(
                    tonic::Code::ResourceExhausted,
                    "no",
                    details,
                ))
            }
            None => Err(refused("CREDENTIALS_INVALID")),
            user => Ok(Response::new(VerifyCredentialsResponse { user })),
        }
    }

    async fn batch_verify_credentials(
        &self,
        request: Request<proto::BatchVerifyCredentialsRequest>,
    ) -> Result<Response<proto::BatchVerifyCredentialsResponse>, Status> {
        if self.memory() == Memory::IsOld {
            return Err(Status::unimplemented(""));
        }
        let items = request.into_inner().items;
        self.call(items.len()).await?;
        let memory = self.memory();
        let is_known = |item: &&VerifyCredentialsRequest| {
            assert_eq!(item.client_address.as_deref(), Some("192.0.2.1"));
            ["right", "key"].contains(&&*item.password) && memory == Memory::Remembers
        };
        let user = |item| Some(item).filter(is_known).and_then(Self::user_of);
        let outcomes = items
            .iter()
            .map(|item| VerifyCredentialsResponse { user: user(item) });
        let outcomes = outcomes.skip((memory == Memory::IsBroken).into()).collect();
        Ok(Response::new(proto::BatchVerifyCredentialsResponse {
            outcomes,
        }))
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

    async fn update_user(
        &self,
        _: Request<proto::UpdateUserRequest>,
    ) -> Result<Response<proto::UpdateUserResponse>, Status> {
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

    async fn create_password_link(
        &self,
        _: Request<proto::CreatePasswordLinkRequest>,
    ) -> Result<Response<proto::CreatePasswordLinkResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn redeem_password_link(
        &self,
        _: Request<proto::RedeemPasswordLinkRequest>,
    ) -> Result<Response<proto::RedeemPasswordLinkResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn get_password_link(
        &self,
        _: Request<proto::GetPasswordLinkRequest>,
    ) -> Result<Response<proto::GetPasswordLinkResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn get_password_policy(
        &self,
        _: Request<proto::GetPasswordPolicyRequest>,
    ) -> Result<Response<proto::GetPasswordPolicyResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn enrol_second_factor(
        &self,
        _: Request<proto::EnrolSecondFactorRequest>,
    ) -> Result<Response<proto::EnrolSecondFactorResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn enable_second_factor(
        &self,
        _: Request<proto::EnableSecondFactorRequest>,
    ) -> Result<Response<proto::EnableSecondFactorResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn disable_second_factor(
        &self,
        _: Request<proto::DisableSecondFactorRequest>,
    ) -> Result<Response<proto::DisableSecondFactorResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    async fn get_second_factor(
        &self,
        _: Request<proto::GetSecondFactorRequest>,
    ) -> Result<Response<proto::GetSecondFactorResponse>, Status> {
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

    async fn list_audit(
        &self,
        _: Request<proto::ListAuditRequest>,
    ) -> Result<Response<proto::ListAuditResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }

    type WatchUsersStream = Pin<Box<dyn Stream<Item = Streamed> + Send>>;

    async fn watch_users(
        &self,
        request: Request<proto::WatchUsersRequest>,
    ) -> Result<Response<Self::WatchUsersStream>, Status> {
        assert!(
            !request.metadata().contains_key("grpc-timeout"),
            "a stream has no deadline"
        );
        assert_eq!(
            request.metadata().get("authorization").expect("a token"),
            "Bearer key"
        );
        let request = request.into_inner();
        let call = (request.from_revision, Instant::now());
        self.watching.calls.lock().expect("no panic").push(call);
        let mut seals = self.watching.seals.lock().expect("no panic");
        seals.push(request.seal);
        drop(seals);
        let streamed = self.watching.streams.lock().expect("no panic").pop_front();
        let stream: Self::WatchUsersStream = match streamed {
            None => Box::pin(pending()),
            Some(items) => match &items[..] {
                [Err(status)] => return Err(status.clone()),
                _ => Box::pin(iter(items)),
            },
        };
        Ok(Response::new(stream))
    }
}

impl FakeAuth {
    /// Waits until this many calls have arrived, and returns the number of items of each call.
    pub(crate) async fn wait_for_calls(&self, count: usize) -> Vec<usize> {
        loop {
            let calls = self.calls.lock().expect("no panic").clone();
            if calls.len() >= count {
                return calls;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn set_memory(&self, memory: Memory) {
        *self.credentials.memory.lock().expect("no panic") = memory;
    }

    pub(crate) fn hash(&self, passwords: usize) {
        self.credentials.may_hash.0.add_permits(passwords);
    }

    pub(crate) fn answer(&self, calls: usize) {
        self.may_answer.0.add_permits(calls);
    }
}
