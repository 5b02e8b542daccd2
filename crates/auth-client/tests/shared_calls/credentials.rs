//! Tests that checks of cached HTTP Basic credentials share calls, and that all other checks are calls of their
//! own.

use crate::{
    fake_auth::{FakeAuth, Memory},
    settle, start,
};
use rolegate_auth_client::{AcceptedPassword, AuthClient, CallContext, CallError, Reason, User};
use std::{sync::atomic::Ordering, time::Duration};
use tokio::task::JoinHandle;

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

/// Starts a client that has verified the credentials of three users once. A fourth check is still hashing,
/// until the test ends it.
async fn start_with_known() -> (AuthClient, FakeAuth, Check) {
    let (client, auth) = start();
    for name in ["ada", "ben", "cleo"] {
        assert_eq!(
            outcome(verify(&client, name, "right")).await.as_deref(),
            Ok(name)
        );
    }
    let slow = verify(&client, "dan", "slow");
    assert_eq!(
        auth.wait_for_calls(4).await,
        [0; 4],
        "there is no other check to share a call with"
    );
    (client, auth, slow)
}

#[tokio::test(start_paused = true)]
async fn known_credentials_share_calls_and_wait_for_no_hash() {
    let (client, auth, slow) = start_with_known().await;
    let ada = verify(&client, "ada", "right");
    auth.wait_for_calls(5).await;
    let others = ["ben", "cleo", "ada"].map(|name| verify(&client, name, "right"));
    settle().await;
    auth.answer(2);
    assert_eq!(outcome(ada).await.as_deref(), Ok("ada"));
    for (check, name) in others.into_iter().zip(["ben", "cleo", "ada"]) {
        assert_eq!(outcome(check).await.as_deref(), Ok(name));
    }
    assert_eq!(auth.wait_for_calls(6).await[4..], [1, 3]);
    assert!(!slow.is_finished());
    auth.hash(1);
    assert_eq!(outcome(slow).await.as_deref(), Ok("dan"));
}

#[tokio::test(start_paused = true)]
async fn a_guess_is_a_call_of_its_own_and_waits_for_no_batch() {
    let (client, auth, _slow) = start_with_known().await;
    let ada = verify(&client, "ada", "right");
    auth.wait_for_calls(5).await;
    for (name, password) in [
        ("ada", "wrong"),
        ("ada", "\0"),
        ("stranger", "right2"),
        ("", ""),
    ] {
        let refused = outcome(verify(&client, name, password)).await;
        assert_eq!(refused, Err(Some(Reason::CredentialsInvalid)), "{name}");
    }
    assert_eq!(
        outcome(verify(&client, "eve", "right")).await.as_deref(),
        Ok("eve")
    );
    assert!(!ada.is_finished());
    assert_eq!(auth.wait_for_calls(10).await[4..], [1, 0, 0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_does_not_remember_is_asked_alone_with_its_refusal() {
    let (client, auth, _slow) = start_with_known().await;
    auth.answer(10);
    auth.set_memory(Memory::Forgets);
    for calls in [&[1, 0][..], &[0], &[1, 0]] {
        let before = auth.wait_for_calls(0).await.len();
        assert_eq!(
            outcome(verify(&client, "ada", "right")).await.as_deref(),
            Ok("ada")
        );
        assert_eq!(auth.wait_for_calls(0).await[before..], *calls);
    }
    auth.set_memory(Memory::Refuses);
    let error = verify(&client, "ben", "right")
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
    let (client, auth, _slow) = start_with_known().await;
    auth.set_memory(Memory::IsOld);
    let checks = ["ada", "ben", "cleo"].map(|name| (name, verify(&client, name, "right")));
    for (name, check) in checks {
        assert_eq!(outcome(check).await.as_deref(), Ok(name));
    }
    assert_eq!(auth.wait_for_calls(7).await, [0; 7]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_fails_admits_nobody_and_is_not_repeated() {
    let (client, auth, _slow) = start_with_known().await;
    let cleo = verify(&client, "cleo", "right");
    auth.wait_for_calls(5).await;
    let two = [
        verify(&client, "ada", "right"),
        verify(&client, "ben", "right"),
    ];
    settle().await;
    auth.answer(1);
    assert_eq!(outcome(cleo).await.as_deref(), Ok("cleo"));
    auth.wait_for_calls(6).await;
    auth.set_memory(Memory::IsBroken);
    auth.answer(1);
    for check in two {
        assert_eq!(check.await.expect("no panic"), Err(CallError::Malformed));
    }
    auth.set_memory(Memory::Remembers);
    auth.outages.store(1, Ordering::SeqCst);
    let checked = verify(&client, "cleo", "right").await.expect("no panic");
    assert_eq!(checked, Err(CallError::Unavailable));
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_hangs_leaves_time_for_a_call_alone() {
    let (client, auth, _slow) = start_with_known().await;
    assert_eq!(
        outcome(verify(&client, "ada", "right")).await.as_deref(),
        Ok("ada")
    );
    assert_eq!(auth.wait_for_calls(6).await[4..], [1, 0]);
}

/// The fake accepts an API key only where the call accepts keys.
#[tokio::test(start_paused = true)]
async fn a_key_shares_calls_once_it_was_right_and_only_where_keys_are_accepted() {
    let (client, auth, _slow) = start_with_known().await;
    auth.answer(10);
    let with_keys = AcceptedPassword::PasswordOrApiKey;
    for calls in [&[0][..], &[1]] {
        let before = auth.wait_for_calls(0).await.len();
        let check = verify_as(with_keys, &client, "ada", "key");
        assert_eq!(outcome(check).await.as_deref(), Ok("ada"));
        assert_eq!(auth.wait_for_calls(0).await[before..], *calls);
    }
    let before = auth.wait_for_calls(0).await.len();
    let refused = outcome(verify(&client, "ada", "key")).await;
    assert_eq!(refused, Err(Some(Reason::CredentialsInvalid)));
    assert_eq!(auth.wait_for_calls(0).await[before..], [0], "no batch");
}
