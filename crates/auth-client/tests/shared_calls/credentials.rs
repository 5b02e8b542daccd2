//! Tests that checks of cached HTTP Basic credentials share calls, and that all other checks are calls of their
//! own.

use crate::{TestService, settle, sizes, start, token};
use auth_fixture::refusal;
use rolegate_auth_client::{
    AcceptedPassword, AuthClient, CallContext, CallError, Reason, User,
    auth_v1::BatchVerifyCredentialsResponse,
};
use rolegate_grpc_client::CALL_TIMEOUT;
use std::time::Duration;
use tokio::{task::JoinHandle, time::advance};
use tonic::Status;

const ALONE: &str = "VerifyCredentials";
const BATCH: &str = "BatchVerifyCredentials";

type Check = JoinHandle<Result<User, CallError>>;

fn verify(client: &AuthClient, username: &'static str, password: &'static str) -> Check {
    verify_as(AcceptedPassword::Password, client, username, password)
}

fn verify_as(
    accepted: AcceptedPassword,
    client: &AuthClient,
    username: &'static str,
    password: &'static str,
) -> Check {
    let client = client.clone();
    let client_address = Some([192, 0, 2, 1].into());
    let context = CallContext {
        client_address,
        ..CallContext::default()
    };
    tokio::spawn(async move {
        client
            .verify_credentials(username, &password.into(), accepted, &[], context)
            .await
    })
}

async fn outcome(check: Check) -> Result<String, Option<Reason>> {
    check
        .await
        .expect("no panic")
        .map(|user| user.username)
        .map_err(|error| error.reason())
}

/// Starts a service with these flags, whose client has verified the credentials of three users once. A fourth
/// check is still hashing, until the test releases `second-admin`.
async fn start_with_known(flags: &[&str]) -> (TestService, Check) {
    let service = start(flags);
    for name in ["user", "ann", "admin"] {
        let check = verify(&service.client, name, "right");
        assert_eq!(outcome(check).await.as_deref(), Ok(name));
    }
    service.calls.hold("second-admin");
    let slow = verify(&service.client, "second-admin", "right");
    service.calls.wait_for(ALONE, 4).await;
    assert_eq!(
        sizes(&service.calls),
        [0; 4],
        "there is no other check to share a call with"
    );
    (service, slow)
}

#[tokio::test(start_paused = true)]
async fn known_credentials_share_calls_and_wait_for_no_hash() {
    let (service, slow) = start_with_known(&[]).await;
    let client = &service.client;
    service.calls.hold(BATCH);
    let user = verify(client, "user", "right");
    service.calls.wait_for(BATCH, 1).await;
    let names = ["ann", "admin", "user"];
    let others = names.map(|name| verify(client, name, "right"));
    settle().await;
    service.calls.release(BATCH);
    assert_eq!(outcome(user).await.as_deref(), Ok("user"));
    for (check, name) in others.into_iter().zip(names) {
        assert_eq!(outcome(check).await.as_deref(), Ok(name));
    }
    assert_eq!(sizes(&service.calls)[4..], [1, 3]);
    assert!(!slow.is_finished());
    service.calls.release("second-admin");
    assert_eq!(outcome(slow).await.as_deref(), Ok("second-admin"));
}

#[tokio::test(start_paused = true)]
async fn a_guess_is_a_call_of_its_own_and_waits_for_no_batch() {
    let (service, _slow) = start_with_known(&[]).await;
    let client = &service.client;
    service.calls.hold(BATCH);
    let user = verify(client, "user", "right");
    service.calls.wait_for(BATCH, 1).await;
    for (name, password) in [
        ("user", "wrong"),
        ("user", "\0"),
        ("stranger", "right2"),
        ("", ""),
    ] {
        let refused = outcome(verify(client, name, password)).await;
        assert_eq!(refused, Err(Some(Reason::CredentialsInvalid)), "{name}");
    }
    let unknown = outcome(verify(client, "jörg", "right")).await;
    assert_eq!(unknown.as_deref(), Ok("jörg"));
    assert!(!user.is_finished());
    assert_eq!(sizes(&service.calls)[4..], [1, 0, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_does_not_remember_is_asked_alone_with_its_refusal() {
    let (service, _slow) = start_with_known(&["--basic-cache-ttl-seconds=0"]).await;
    let client = &service.client;
    let calls = &service.calls;
    for expected in [&[1, 0][..], &[0], &[1, 0]] {
        let before = sizes(calls).len();
        let check = verify(client, "user", "right");
        assert_eq!(outcome(check).await.as_deref(), Ok("user"));
        assert_eq!(sizes(calls)[before..], *expected);
    }
    calls.fail_next(ALONE, refusal(Reason::TooManyAttempts));
    let error = verify(client, "ann", "right")
        .await
        .expect("no panic")
        .expect_err("refused");
    let CallError::Refused(refused) = error else {
        panic!("{error}")
    };
    assert_eq!(refused.reason, Reason::TooManyAttempts);
    assert_eq!(refused.retry_after, Some(Duration::from_secs(7)));
}

#[tokio::test(start_paused = true)]
async fn an_old_service_is_asked_alone() {
    let (service, _slow) = start_with_known(&[]).await;
    service.calls.fail(BATCH, Status::unimplemented(""));
    let names = ["user", "ann", "admin"];
    let checks = names.map(|name| verify(&service.client, name, "right"));
    for (check, name) in checks.into_iter().zip(names) {
        assert_eq!(outcome(check).await.as_deref(), Ok(name));
    }
    let mut methods = service.calls.methods();
    methods.retain(|method| method != BATCH);
    assert_eq!(methods, [ALONE; 7]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_admits_nobody_and_is_not_repeated() {
    let (service, _slow) = start_with_known(&[]).await;
    let client = &service.client;
    let calls = &service.calls;
    calls.hold(BATCH);
    let one = verify(client, "admin", "right");
    calls.wait_for(BATCH, 1).await;
    let two = ["user", "ann"].map(|name| verify(client, name, "right"));
    settle().await;
    calls.edit(BATCH, |response: &mut BatchVerifyCredentialsResponse| {
        response.outcomes.truncate(1);
    });
    calls.release(BATCH);
    assert_eq!(outcome(one).await.as_deref(), Ok("admin"));
    for check in two {
        assert_eq!(check.await.expect("no panic"), Err(CallError::Malformed));
    }
    calls.fail_next(BATCH, Status::unavailable("this replica is down"));
    let checked = verify(client, "admin", "right").await.expect("no panic");
    assert_eq!(checked, Err(CallError::Unavailable));
    assert_eq!(sizes(calls)[4..], [1, 2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_hangs_leaves_time_for_a_call_alone() {
    let (service, _slow) = start_with_known(&[]).await;
    service.calls.hold(BATCH);
    let check = verify(&service.client, "user", "right");
    service.calls.wait_for(BATCH, 1).await;
    advance(CALL_TIMEOUT).await;
    assert_eq!(outcome(check).await.as_deref(), Ok("user"));
    assert_eq!(sizes(&service.calls)[4..], [1, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_key_shares_calls_once_it_was_right_and_only_where_keys_are_accepted() {
    let (service, _slow) = start_with_known(&[]).await;
    let client = &service.client;
    let calls = &service.calls;
    let key = token("rgk_user");
    for expected in [0, 1] {
        let before = sizes(calls).len();
        let check = verify_as(AcceptedPassword::PasswordOrApiKey, client, "user", key);
        assert_eq!(outcome(check).await.as_deref(), Ok("user"));
        assert_eq!(sizes(calls)[before..], [expected]);
    }
    let before = sizes(calls).len();
    let refused = outcome(verify(client, "user", key)).await;
    assert_eq!(refused, Err(Some(Reason::CredentialsInvalid)));
    assert_eq!(sizes(calls)[before..], [0], "no batch");
}
