//! Tests that concurrent role decisions, and checks of cached credentials, share calls and do not affect each
//! other, and that user changes are followed through interruptions.

mod credentials;
mod user_changes;

use auth_fixture::{Calls, credential};
use rolegate_auth_client::{
    AuthClient, CallContext, CallError, Reason, Requirement, Role, User,
    auth_v1::{
        BatchAuthorizeRequest, BatchVerifyCredentialsRequest, ListRolesRequest, RegisterRequest,
        VerifyCredentialsRequest,
    },
};
use rolegate_grpc_client::CALL_TIMEOUT;
use secrecy::SecretString;
use std::{sync::mpsc, time::Duration};
use tokio::{
    task::{JoinHandle, spawn_blocking, yield_now},
    time::advance,
};
use tonic::Status;

/// The time after which the clock of a test runs. A wait for something that never happens then times out.
const HANG_TIMEOUT: Duration = Duration::from_mins(1);

/// auth-service, and a client of it whose clock only `advance` moves.
struct TestService {
    client: AuthClient,
    calls: Calls,
    _stopped_clock: StoppedClock,
}

/// Keeps a paused clock from running while the test waits for the service, whose thread has a clock of its own.
/// Otherwise each wait would end in a timeout.
///
/// A blocking task keeps the clock from running, until this value is dropped or the test has hung for some time.
struct StoppedClock {
    _running: mpsc::Sender<()>,
}

impl StoppedClock {
    fn new() -> Self {
        let (running, ended) = mpsc::channel();
        spawn_blocking(move || ended.recv_timeout(HANG_TIMEOUT));
        Self { _running: running }
    }
}

/// Starts a service with these flags. The clock of the test must be paused.
fn start(flags: &[&str]) -> TestService {
    let service = auth_fixture::start(flags);
    TestService {
        client: service.client(),
        calls: service.calls,
        _stopped_clock: StoppedClock::new(),
    }
}

impl TestService {
    /// Changes the roles of these users, one after another.
    async fn change_roles<const N: usize>(&self, user_ids: [i64; N]) {
        let admin = self
            .client
            .clone()
            .acting_for(token("admin").into(), CallContext::default());
        for user_id in user_ids {
            let changed = admin.set_user_role(user_id, "editor".to_owned()).await;
            changed.expect("changed");
        }
    }
}

fn token(name: &str) -> &'static str {
    credential(name).expect("a credential")
}

/// Returns the number of items of each call for decisions or credentials; 0 for a call that is no batch.
fn sizes(calls: &Calls) -> Vec<usize> {
    let calls = calls.all().into_iter();
    calls
        .map(|call| match &*call.method {
            "BatchAuthorize" => call.request::<BatchAuthorizeRequest>().items.len(),
            "BatchVerifyCredentials" => {
                let items = call.request::<BatchVerifyCredentialsRequest>().items;
                for item in &items {
                    assert_eq!(item.client_address.as_deref(), Some("192.0.2.1"));
                }
                items.len()
            }
            "VerifyCredentials" => {
                let request = call.request::<VerifyCredentialsRequest>();
                assert_eq!(request.client_address, None, "it is in the metadata");
                assert_eq!(call.client_address.as_deref(), Some("192.0.2.1"));
                0
            }
            _ => 0,
        })
        .collect()
}

type Decision = JoinHandle<Result<User, CallError>>;

fn ask(client: &AuthClient, token: &str) -> Decision {
    let (client, token) = (client.clone(), SecretString::from(token));
    tokio::spawn(async move {
        client
            .authorize(
                &token,
                Requirement::AnyAuthenticated,
                CallContext::default(),
            )
            .await
    })
}

/// Keeps a call in flight until `Authorize` is released, so that the next decisions wait and form a batch.
async fn occupy(service: &TestService) -> Vec<Decision> {
    service.calls.hold("Authorize");
    let first = ask(&service.client, token("user"));
    service.calls.wait_for("Authorize", 1).await;
    vec![first]
}

/// Lets all tasks of the client run until they wait for the service or the clock.
async fn settle() {
    for _ in 0..100 {
        yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn single_decision_is_an_authorize_and_waiting_ones_share_a_batch() {
    let service = start(&[]);
    let names = ["user", "author", "admin"].into_iter().cycle().take(40);
    let mut decisions = occupy(&service).await;
    let others = names.clone().skip(1);
    decisions.extend(others.map(|name| ask(&service.client, token(name))));
    settle().await;
    assert_eq!(sizes(&service.calls), [0]);
    service.calls.release("Authorize");
    for (name, decision) in names.zip(decisions) {
        let user = decision.await.expect("no panic").expect("a user");
        assert_eq!(user.username, name);
    }
    assert_eq!(sizes(&service.calls), [0, 39]);
}

#[tokio::test(start_paused = true)]
async fn decision_made_after_a_role_change_uses_the_new_role() {
    let service = start(&[]);
    let early = occupy(&service).await;
    let user_id = 2;
    service.change_roles([user_id]).await;
    let late = ask(&service.client, token("user"));
    settle().await;
    service.calls.release("Authorize");
    for decision in early {
        assert_eq!(
            decision.await.expect("no panic").expect("a user").role,
            Role::USER
        );
    }
    let late = late.await.expect("no panic").expect("a user");
    assert_eq!(late.role.as_str(), "editor");
}

#[tokio::test(start_paused = true)]
async fn invalid_tokens_do_not_affect_other_items_of_the_batch() {
    let service = start(&[]);
    let client = &service.client;
    let occupied = occupy(&service).await;
    let before = ask(client, token("author"));
    let hostile = ["\0", "\u{202e}", "bad", &"x".repeat(1024 * 1024)].map(|it| ask(client, it));
    let after = ask(client, token("admin"));
    settle().await;
    service.calls.release("Authorize");
    for decision in occupied.into_iter().chain([before, after]) {
        assert!(decision.await.expect("no panic").is_ok());
    }
    for decision in hostile {
        let error = decision.await.expect("no panic").expect_err("not a token");
        assert_eq!(error.reason(), Some(Reason::TokenInvalid));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelled_decision_is_not_sent_and_cancels_no_other() {
    let service = start(&[]);
    let occupied = occupy(&service).await;
    let cancelled = ask(&service.client, token("author"));
    let other = ask(&service.client, token("admin"));
    settle().await;
    cancelled.abort();
    settle().await;
    service.calls.release("Authorize");
    assert!(other.await.expect("no panic").is_ok());
    for decision in occupied {
        assert!(decision.await.expect("no panic").is_ok());
    }
    assert_eq!(sizes(&service.calls), [0, 0]);
}

/// The clock of this test runs, because the client pauses before it retries.
#[tokio::test]
async fn unavailable_read_is_retried_and_registration_is_not() {
    let service = auth_fixture::start(&[]);
    let client = service.client();
    let calls = service.calls;
    let down = || Status::unavailable("this replica is down");
    calls.fail_next("Authorize", down());
    calls.fail_next("Authorize", down());
    let decision = ask(&client, token("user")).await.expect("no panic");
    assert_eq!(decision.expect("a user").username, "user");
    assert_eq!(calls.methods(), ["Authorize"; 3]);
    let admin = client
        .clone()
        .acting_for(token("admin").into(), CallContext::default());
    calls.fail_next("ListRoles", down());
    let roles = admin.send(ListRolesRequest {}).await;
    assert!(roles.is_ok(), "{roles:?}");
    assert_eq!(calls.requests::<ListRolesRequest>("ListRoles").len(), 2);
    calls.fail_next("Register", down());
    let password = SecretString::from("sesame");
    let registered = client
        .register("ada", &password, CallContext::default())
        .await;
    assert_eq!(registered, Err(CallError::Unavailable));
    assert_eq!(calls.requests::<RegisterRequest>("Register").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn every_decision_has_its_own_deadline() {
    let service = start(&[]);
    let _occupied = occupy(&service).await;
    let late = ask(&service.client, token("admin"));
    settle().await;
    advance(CALL_TIMEOUT).await;
    assert_eq!(
        late.await.expect("no panic"),
        Err(CallError::DeadlineExceeded)
    );
}
