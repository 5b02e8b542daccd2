//! Concurrent role decisions share calls and do not affect each other.

use rolegate_auth_client::{
    AuthClient, BalancedChannel, CallContext, CallError, Reason, Requirement, Role, Stream, User,
};
use rolegate_proto::auth_v1::{
    self as proto, AuthorizeOutcome, AuthorizeRequest, AuthorizeResponse, BatchAuthorizeRequest,
    BatchAuthorizeResponse, ListUsersRequest, ListUsersResponse, LoginRequest, LoginResponse,
    RegisterRequest, RegisterResponse, SetUserRoleRequest, SetUserRoleResponse,
    VerifyCredentialsRequest, VerifyCredentialsResponse,
    auth_service_server::{AuthService, AuthServiceServer},
    authorize_outcome::Outcome,
};
use secrecy::SecretString;
use std::{
    collections::HashMap,
    io,
    sync::{Arc, Mutex, atomic::AtomicI32, atomic::Ordering},
};
use tokio::{sync::Semaphore, task::JoinHandle};
use tonic::{Request, Response, Status, transport::Server};

/// Answers when the test allows it. A token is the id of its user; others are invalid.
#[derive(Clone, Default)]
struct Auth {
    role: Arc<AtomicI32>,
    may_answer: Arc<Gate>,
    /// The number of items of each call; 0 for an `Authorize`.
    calls: Arc<Mutex<Vec<usize>>>,
    outages: Arc<AtomicI32>,
}

struct Gate(Semaphore);

impl Default for Gate {
    fn default() -> Self {
        Self(Semaphore::new(0))
    }
}

impl Auth {
    fn decide(token: &str, role: i32) -> Outcome {
        match token.parse() {
            Ok(id) => Outcome::User(proto::User { id, username: format!("user {id}"), role }),
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
impl AuthService for Auth {
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

    async fn batch_get_users(
        &self,
        _: Request<proto::BatchGetUsersRequest>,
    ) -> Result<Response<proto::BatchGetUsersResponse>, Status> {
        Err(Status::unimplemented("not used by these tests"))
    }
}

fn start() -> (AuthClient, Auth) {
    let auth = Auth::default();
    auth.role.store(proto::Role::User.into(), Ordering::SeqCst);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let service = AuthServiceServer::new(auth.clone());
    let connection = tokio_stream::once(io::Result::Ok(far));
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_serving::<AuthServiceServer<Auth>>().await;
        let server = Server::builder().add_service(service).add_service(health_service);
        server.serve_with_incoming(connection).await
    });
    let near = Mutex::new(Some(near));
    let channel = BalancedChannel::with_connector(AuthClient::SERVICE, move || {
        let near = near.lock().expect("no panic").take();
        async move {
            near.map(|near| Box::new(near) as Box<dyn Stream>)
                .ok_or(io::ErrorKind::ConnectionRefused.into())
        }
    });
    let client = AuthClient::new(channel);
    (client, auth)
}

type Decision = JoinHandle<Result<User, CallError>>;

fn ask(client: &AuthClient, token: &str) -> Decision {
    let (client, token) = (client.clone(), SecretString::from(token));
    tokio::spawn(async move {
        client.authorize(&token, Requirement::AnyAuthenticated, CallContext::default()).await
    })
}

impl Auth {
    /// Waits for this many calls.
    async fn wait_for_calls(&self, count: usize) -> Vec<usize> {
        loop {
            let calls = self.calls.lock().expect("no panic").clone();
            if calls.len() >= count {
                return calls;
            }
            tokio::task::yield_now().await;
        }
    }

    fn answer(&self, calls: usize) {
        self.may_answer.0.add_permits(calls);
    }
}

/// Keeps a call in flight, so that the next decisions wait and form a batch.
async fn occupy(client: &AuthClient, auth: &Auth) -> Vec<Decision> {
    let first = ask(client, "1");
    auth.wait_for_calls(1).await;
    vec![first]
}

async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn single_decision_is_an_authorize_and_waiting_ones_share_a_batch() {
    let (client, auth) = start();
    let mut decisions = occupy(&client, &auth).await;
    decisions.extend((2..=40).map(|id| ask(&client, &id.to_string())));
    settle().await;
    assert_eq!(auth.wait_for_calls(1).await, [0]);
    auth.answer(2);
    for (id, decision) in (1..).zip(decisions) {
        assert_eq!(decision.await.expect("no panic").expect("a user").id, id);
    }
    assert_eq!(auth.wait_for_calls(2).await, [0, 39]);
}

#[tokio::test]
async fn decision_made_after_a_role_change_uses_the_new_role() {
    let (client, auth) = start();
    let early = occupy(&client, &auth).await;
    auth.role.store(proto::Role::Admin.into(), Ordering::SeqCst);
    let late = ask(&client, "1");
    settle().await;
    auth.answer(3);
    for decision in early {
        assert_eq!(decision.await.expect("no panic").expect("a user").role, Role::User);
    }
    assert_eq!(late.await.expect("no panic").expect("a user").role, Role::Admin);
}

#[tokio::test]
async fn invalid_tokens_do_not_affect_other_items_of_the_batch() {
    let (client, auth) = start();
    let occupied = occupy(&client, &auth).await;
    let (before, after) = (ask(&client, "3"), ask(&client, "4"));
    let hostile = ["\0", "\u{202e}", "bad", &"x".repeat(1024 * 1024)].map(|it| ask(&client, it));
    settle().await;
    auth.answer(3);
    for decision in occupied.into_iter().chain([before, after]) {
        assert!(decision.await.expect("no panic").is_ok());
    }
    for decision in hostile {
        let error = decision.await.expect("no panic").expect_err("not a token");
        assert_eq!(error.reason(), Some(Reason::TokenInvalid));
    }
}

#[tokio::test]
async fn cancelled_decision_is_not_sent_and_cancels_no_other() {
    let (client, auth) = start();
    let occupied = occupy(&client, &auth).await;
    let (cancelled, other) = (ask(&client, "3"), ask(&client, "4"));
    settle().await;
    cancelled.abort();
    settle().await;
    auth.answer(3);
    assert!(other.await.expect("no panic").is_ok());
    for decision in occupied {
        assert!(decision.await.expect("no panic").is_ok());
    }
    assert_eq!(auth.wait_for_calls(2).await, [0, 0]);
}

#[tokio::test]
async fn unavailable_decision_is_retried_and_registration_is_not() {
    let (client, auth) = start();
    auth.answer(1);
    auth.outages.store(2, Ordering::SeqCst);
    assert!(ask(&client, "1").await.expect("no panic").is_ok());
    assert_eq!(auth.wait_for_calls(3).await.len(), 3);
    auth.outages.store(1, Ordering::SeqCst);
    let password = SecretString::from("sesame");
    let registered = client.register("ada", &password, CallContext::default()).await;
    assert_eq!(registered, Err(CallError::Unavailable));
    assert_eq!(auth.wait_for_calls(4).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn every_decision_has_its_own_deadline() {
    let (client, auth) = start();
    let _occupied = occupy(&client, &auth).await;
    let late = ask(&client, "3");
    assert_eq!(late.await.expect("no panic"), Err(CallError::DeadlineExceeded));
}
