//! Tests that concurrent role decisions, and checks of cached credentials, share calls and do not affect each
//! other, and that user changes are followed through interruptions.

mod credentials;
mod fake_auth;
mod user_changes;

use fake_auth::FakeAuth;
use rolegate_auth_client::{
    AuthClient, BalancedChannel, CallContext, CallError, Reason, Requirement, Role, Stream, User,
};
use rolegate_proto::auth_v1::{self as proto, auth_service_server::AuthServiceServer};
use secrecy::SecretString;
use std::{
    io,
    sync::{Mutex, atomic::Ordering},
};
use tokio::task::JoinHandle;
use tonic::transport::Server;

fn start() -> (AuthClient, FakeAuth) {
    let auth = FakeAuth::default();
    auth.role.store(proto::Role::User.into(), Ordering::SeqCst);
    let (near, far) = tokio::io::duplex(64 * 1024);
    let service = AuthServiceServer::new(auth.clone());
    let connection = tokio_stream::once(io::Result::Ok(far));
    let (health, health_service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health.set_serving::<AuthServiceServer<FakeAuth>>().await;
        let server = Server::builder()
            .add_service(service)
            .add_service(health_service);
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
    let client = AuthClient::new(channel.clone(), channel);
    (client, auth)
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

/// Keeps a call in flight, so that the next decisions wait and form a batch.
async fn occupy(client: &AuthClient, auth: &FakeAuth) -> Vec<Decision> {
    let first = ask(client, "1");
    auth.wait_for_calls(1).await;
    vec![first]
}

async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
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

#[tokio::test(start_paused = true)]
async fn decision_made_after_a_role_change_uses_the_new_role() {
    let (client, auth) = start();
    let early = occupy(&client, &auth).await;
    auth.role.store(proto::Role::Admin.into(), Ordering::SeqCst);
    let late = ask(&client, "1");
    settle().await;
    auth.answer(3);
    for decision in early {
        assert_eq!(
            decision.await.expect("no panic").expect("a user").role,
            Role::USER
        );
    }
    assert_eq!(
        late.await.expect("no panic").expect("a user").role,
        Role::ADMIN
    );
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

#[tokio::test(start_paused = true)]
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
    let registered = client
        .register("ada", &password, CallContext::default())
        .await;
    assert_eq!(registered, Err(CallError::Unavailable));
    assert_eq!(auth.wait_for_calls(4).await.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn every_decision_has_its_own_deadline() {
    let (client, auth) = start();
    let _occupied = occupy(&client, &auth).await;
    let late = ask(&client, "3");
    assert_eq!(
        late.await.expect("no panic"),
        Err(CallError::DeadlineExceeded)
    );
}
