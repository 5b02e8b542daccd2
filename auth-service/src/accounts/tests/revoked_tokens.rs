//! Logouts and other revocations of access tokens.

use super::{App, POLICY};
use crate::{
    accounts::{AccountError, Requirement},
    clock::ManualClock,
    store::{Revoker, UserStore as _},
};
use rolegate_proto::Role;
use std::{sync::Arc, time::Duration};

const NOW: u64 = 1_800_000_000;

fn any() -> Requirement {
    Requirement::AnyAuthenticated
}

#[tokio::test]
async fn a_login_in_the_second_of_a_logout_is_good_and_older_tokens_are_not() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    let mut old = vec![app.login("ann", "sesame").await.expect("logged in")];
    // As often as one likes within one second.
    for _ in 0..5 {
        let newest = old.last().expect("one").clone();
        app.accounts.revoke_tokens(&newest, None).await.expect("logged out");
        for token in &old {
            assert_err!(app.accounts.authorize(token, &any()).await, AccountError::TokenInvalid);
        }
        let new = app.login("ann", "sesame").await.expect("logged in");
        app.accounts.authorize(&new, &any()).await.expect("good at once");
        old.push(new);
    }
    app.authorize(&app.admin, &[Role::Admin]).await.expect("tokens of others stay");
}

#[tokio::test]
async fn a_logout_holds_where_clocks_differ_by_a_second() {
    for (clock_of_login, clock_of_logout) in [(NOW, NOW), (NOW + 1, NOW), (NOW, NOW + 1)] {
        let (login, logout) = (ManualClock::at(clock_of_login), ManualClock::at(clock_of_logout));
        let app = App::with_clock(POLICY, Arc::new(login)).await;
        let other = app.replica(Arc::new(logout));
        let old = app.login("admin", "sesame").await.expect("logged in");
        other.revoke_tokens(&old, None).await.expect("logged out");
        for replica in [&app.accounts, &other] {
            assert_err!(replica.authorize(&old, &any()).await, AccountError::TokenInvalid);
        }
        let new = app.login("admin", "sesame").await.expect("logged in");
        for replica in [&app.accounts, &other] {
            replica.authorize(&new, &any()).await.expect("good on every replica");
        }
    }
}

#[tokio::test]
async fn a_logout_during_a_login_does_not_refuse_the_right_password() {
    let clock = Arc::new(ManualClock::at(NOW));
    let app = App::with_clock(POLICY, clock.clone()).await;
    let ann = app.register("ann").await.expect("registered");
    let store = Arc::clone(&app.store);
    let logout = async {
        // Between the read of the hash and the end of the check.
        for _ in 0..200 {
            store.revoke_tokens(Revoker::Operator, ann.id, NOW + 2).await.expect("revoked");
            tokio::task::yield_now().await;
        }
        clock.set(NOW + 2);
    };
    let (token, ()) = tokio::join!(app.login("ann", "sesame"), logout);
    token.expect("logged in");
}

#[tokio::test]
async fn a_login_after_any_number_of_revocations_is_good_two_seconds_later_at_most() {
    let clock = Arc::new(ManualClock::at(NOW));
    let app = App::with_clock(POLICY, clock.clone()).await;
    let ann = app.register("ann").await.expect("registered");
    let mut old = Vec::new();
    for _ in 0..29 {
        old.push(app.login("ann", "sesame").await.expect("logged in"));
        app.accounts.revoke_tokens(old.last().expect("one"), None).await.expect("logged out");
    }
    for _ in 0..1_000 {
        app.accounts.revoke_tokens(&app.admin, Some(ann.id)).await.expect("revoked");
    }
    let mut login = std::pin::pin!(app.login("ann", "sesame"));
    for now in [NOW, NOW + 1] {
        clock.set(now);
        // Longer than the hash takes, so it waits for the clock.
        let waited = tokio::time::timeout(Duration::from_millis(500), &mut login).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    clock.set(NOW + 2);
    let new = login.await.expect("logged in");
    app.accounts.authorize(&new, &any()).await.expect("good at once");
    for token in &old {
        assert_err!(app.accounts.authorize(token, &any()).await, AccountError::TokenInvalid);
    }
    let behind = app.replica(Arc::new(ManualClock::at(NOW + 1)));
    behind.authorize(&new, &any()).await.expect("good where the clock is a second behind");
    behind.revoke_tokens(&app.admin, Some(ann.id)).await.expect("revoked");
    assert_err!(app.accounts.authorize(&new, &any()).await, AccountError::TokenInvalid);
}

#[tokio::test]
async fn a_user_who_is_disabled_while_a_login_waits_gets_no_token() {
    let clock = Arc::new(ManualClock::at(NOW));
    let app = App::with_clock(POLICY, clock.clone()).await;
    let ann = app.register("ann").await.expect("registered");
    app.store.revoke_tokens(Revoker::Operator, ann.id, NOW + 32).await.expect("revoked");
    let mut login = std::pin::pin!(app.login("ann", "sesame"));
    // Longer than the hash takes, so it waits for the clock.
    let waited = tokio::time::timeout(Duration::from_millis(500), &mut login).await;
    assert!(waited.is_err(), "{waited:?}");
    app.store.set_disabled(None, ann.id, true, NOW + 2).await.expect("disabled");
    clock.set(NOW + 2);
    assert_err!(login.await, AccountError::CredentialsInvalid);
}

#[tokio::test]
async fn a_login_that_would_wait_longer_than_its_caller_says_when_to_retry() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.store.revoke_tokens(Revoker::Operator, ann.id, NOW + 300).await.expect("revoked");
    let refused = app.login("ann", "sesame").await;
    let Err(AccountError::Overloaded { retry_after, scope: None }) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(retry_after, Duration::from_secs(270));
}

#[tokio::test]
async fn many_logouts_by_one_token_do_not_keep_the_user_out() {
    let app = App::new(POLICY).await;
    let logouts = (0..200).map(|_| {
        let (accounts, token) = (app.accounts.clone(), app.admin.clone());
        tokio::spawn(async move { accounts.revoke_tokens(&token, None).await.is_ok() })
    });
    let mut ended = 0;
    for logout in logouts.collect::<Vec<_>>() {
        ended += u32::from(logout.await.expect("it ended"));
    }
    assert_eq!(ended, 1);
    let token = app.login("admin", "sesame").await.expect("logged in");
    app.accounts.authorize(&token, &any()).await.expect("good at once");
}

#[tokio::test]
async fn admins_end_the_tokens_of_others() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let revoke = async |actor: &str, id| app.accounts.revoke_tokens(actor, id).await;
    assert_err!(revoke(&token, Some(1)).await, AccountError::RoleInsufficient);
    assert_err!(revoke(&app.admin, Some(999)).await, AccountError::UserNotFound);
    revoke(&app.admin, Some(ann.id)).await.expect("revoked");
    assert_err!(app.accounts.authorize(&token, &any()).await, AccountError::TokenInvalid);
    app.authorize(&app.admin, &[Role::Admin]).await.expect("its own stays");
}
