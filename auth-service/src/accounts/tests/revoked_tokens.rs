//! Tests of logouts and other revocations of access tokens.

use super::{App, NOW, POLICY, bearer};
use crate::{accounts::Requirement, principal::Principal};
use rolegate_proto::{Reason, Role};
use std::time::Duration;

fn any() -> Requirement {
    Requirement::AnyAuthenticated
}

#[tokio::test]
async fn a_token_of_a_login_in_the_second_of_a_logout_is_valid_and_older_ones_are_not() {
    let app = App::new(POLICY).await;
    app.register("ann").await.expect("registered");
    let mut old = vec![app.login("ann", "sesame").await.expect("logged in")];
    // There is no limit to the revocations within one second.
    for _ in 0..5 {
        let newest = old.last().expect("one").clone();
        app.users
            .revoke_tokens(&newest, None)
            .await
            .expect("logged out");
        for token in &old {
            assert_err!(app.authorizer.authorize(token, &any()).await, TokenInvalid);
        }
        let new = app.login("ann", "sesame").await.expect("logged in");
        app.authorizer
            .authorize(&new, &any())
            .await
            .expect("valid at once");
        old.push(new);
    }
    app.authorize(&app.admin, &[Role::ADMIN])
        .await
        .expect("tokens of others stay");
}

#[tokio::test]
async fn a_logout_holds_after_a_failover_to_a_clock_two_seconds_behind() {
    for step in [0, 1, 2] {
        let app = App::new(POLICY).await;
        let old = app.login("admin", "sesame").await.expect("logged in");
        app.store.set_time(NOW - step);
        app.authorizer
            .authorize(&old, &any())
            .await
            .expect("still valid");
        app.users
            .revoke_tokens(&old, None)
            .await
            .expect("logged out");
        assert_err!(app.authorizer.authorize(&old, &any()).await, TokenInvalid);
        let new = app
            .login("admin", "sesame")
            .await
            .expect("logged in at once");
        for now in [NOW - step, NOW, NOW + 29 * 60] {
            app.store.set_time(now);
            assert_err!(app.authorizer.authorize(&old, &any()).await, TokenInvalid);
            app.authorizer.authorize(&new, &any()).await.expect("valid");
        }
    }
}

#[tokio::test]
async fn an_expired_token_is_invalid_also_without_its_user() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    app.delete_user(ann.id).await;
    assert_err!(
        app.authorizer.authorize(&token, &any()).await,
        TokenUserNotFound
    );
    app.store.set_time(NOW + 30 * 60);
    assert_err!(app.authorizer.authorize(&token, &any()).await, TokenInvalid);
    let bearer = bearer(&token, any());
    let batch = app
        .authorizer
        .authorize_batch(vec![Ok(bearer)])
        .await
        .expect("read")
        .pop();
    assert_err!(batch.expect("one outcome"), TokenInvalid);
}

/// Tests what happens to times that were stored while the clock was ten minutes ahead.
#[tokio::test]
async fn an_operator_lowers_a_time_in_the_future_and_no_token_returns() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let mut ended = Vec::new();
    for minute in [2, 5, 10] {
        app.store.set_time(NOW + minute * 60);
        ended.push(app.login("ann", "sesame").await.expect("logged in"));
    }
    app.users
        .revoke_tokens(&app.admin, Some(ann.id))
        .await
        .expect("revoked");
    app.store.set_time(NOW);
    ended.push(app.login("admin", "sesame").await.expect("of another"));
    let of_other = ended.pop().expect("one");
    let error = app
        .login("ann", "sesame")
        .await
        .expect_err("the clock is behind");
    assert_eq!(
        (error.reason(), error.retry_after()),
        (Reason::ClockBehind, Some(Duration::from_secs(573)))
    );

    for _ in 0..2 {
        app.revoke_tokens(Principal::Operator, ann.id).await;
        let new = app.login("ann", "sesame").await.expect("logged in at once");
        for minute in 0..30 {
            app.store.set_time(NOW + minute * 60);
            app.authorizer.authorize(&new, &any()).await.expect("valid");
            for token in &ended {
                assert_err!(app.authorizer.authorize(token, &any()).await, TokenInvalid);
            }
        }
        // This token carries the mark for the time that was lowered. The next lowering gives the
        // user another mark.
        app.store.set_tokens_not_before(ann.id, NOW + 900);
        app.store.set_time(NOW);
        ended.push(new);
    }
    app.authorizer
        .authorize(&of_other, &any())
        .await
        .expect("valid");
}

#[tokio::test]
async fn a_logout_during_a_login_does_not_refuse_the_right_password() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let admin = app.by_admin().await;
    let logout = async {
        // The revocations happen between the read of the hash and the end of the check.
        for _ in 0..200 {
            app.revoke_tokens(admin.clone(), ann.id).await;
            tokio::task::yield_now().await;
        }
        app.store.set_time(NOW + 3);
    };
    let (token, ()) = tokio::join!(app.login("ann", "sesame"), logout);
    token.expect("logged in");
}

#[tokio::test]
async fn a_login_after_any_number_of_revocations_succeeds_three_seconds_later_at_most() {
    let app = App::new(POLICY).await;
    let users = &app.users;
    let ann = app.register("ann").await.expect("registered");
    let mut old = Vec::new();
    for _ in 0..28 {
        old.push(app.login("ann", "sesame").await.expect("logged in"));
        users
            .revoke_tokens(old.last().expect("one"), None)
            .await
            .expect("logged out");
    }
    for _ in 0..1_000 {
        users
            .revoke_tokens(&app.admin, Some(ann.id))
            .await
            .expect("revoked");
    }
    let mut login = std::pin::pin!(app.login("ann", "sesame"));
    for now in [NOW, NOW + 2] {
        app.store.set_time(now);
        // This is longer than the hash takes, so the login is waiting for the clock.
        let waited = tokio::time::timeout(Duration::from_millis(500), &mut login).await;
        assert!(waited.is_err(), "{waited:?}");
    }
    app.store.set_time(NOW + 3);
    let new = login.await.expect("logged in");
    app.authorizer
        .authorize(&new, &any())
        .await
        .expect("valid at once");
    for token in &old {
        assert_err!(app.authorizer.authorize(token, &any()).await, TokenInvalid);
    }
    app.store.set_time(NOW + 1);
    app.authorizer
        .authorize(&new, &any())
        .await
        .expect("valid where the clock is two seconds behind");
    users
        .revoke_tokens(&app.admin, Some(ann.id))
        .await
        .expect("revoked");
    assert_err!(app.authorizer.authorize(&new, &any()).await, TokenInvalid);
}

#[tokio::test]
async fn a_user_who_is_disabled_while_a_login_waits_gets_no_token() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    app.store.set_tokens_not_before(ann.id, NOW + 32);
    let mut login = std::pin::pin!(app.login("ann", "sesame"));
    // This is longer than the hash takes, so the login is waiting for the clock.
    let waited = tokio::time::timeout(Duration::from_millis(500), &mut login).await;
    assert!(waited.is_err(), "{waited:?}");
    app.set_disabled(ann.id, true).await;
    app.store.set_time(NOW + 3);
    assert_err!(login.await, CredentialsInvalid);
}

#[tokio::test]
async fn many_logouts_by_one_token_do_not_keep_the_user_out() {
    let app = App::new(POLICY).await;
    let logouts = (0..200).map(|_| {
        let (services, token) = (app.services.clone(), app.admin.clone());
        tokio::spawn(async move { services.users.revoke_tokens(&token, None).await.is_ok() })
    });
    let mut ended = 0;
    for logout in logouts.collect::<Vec<_>>() {
        ended += u32::from(logout.await.expect("it ended"));
    }
    assert_eq!(ended, 1);
    let token = app.login("admin", "sesame").await.expect("logged in");
    app.authorizer
        .authorize(&token, &any())
        .await
        .expect("valid at once");
}

#[tokio::test]
async fn admins_end_the_tokens_of_others() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let revoke = async |actor: &str, id| app.users.revoke_tokens(actor, id).await;
    assert_err!(revoke(&token, Some(1)).await, RoleInsufficient);
    assert_err!(revoke(&app.admin, Some(999)).await, UserNotFound);
    revoke(&app.admin, Some(ann.id)).await.expect("revoked");
    assert_err!(app.authorizer.authorize(&token, &any()).await, TokenInvalid);
    app.authorize(&app.admin, &[Role::ADMIN])
        .await
        .expect("its own stays");
}
