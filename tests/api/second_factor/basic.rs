//! HTTP Basic has no second step, so it refuses users with a second factor.

use super::{OFF, ON, REQUIRED, WRONG_PASSWORD, confirm, turn_off, two_replicas};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{Api, Store, TestResponse, TestSetup, ext_authz, for_all_deployments, for_both_stores};

for_all_deployments!(basic_refuses_the_right_password_of_who_has_a_second_factor);
for_both_stores!(a_password_that_a_replica_remembers_is_refused_from_the_next_request_on);

#[track_caller]
fn expect_required(response: &TestResponse) {
    response.expect_detail(401, REQUIRED);
    response.expect_header("rolegate-reason", Some("OTP_REQUIRED"));
}

async fn basic_refuses_the_right_password_of_who_has_a_second_factor(setup: TestSetup) {
    let app = setup.start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    let (right, wrong) = (
        app.basic.with_basic("ann", &ann.password),
        app.basic.with_basic("ann", "wrong"),
    );
    let proxy = Api::at(&app.gateway().address("forward"));
    let by_proxy = proxy.with_basic("ann", &ann.password);
    // A second factor that was only begun refuses nothing, and the password is cached.
    let factor = ann.begin_second_factor(&app.bearer).await;
    for _ in 0..2 {
        right.get("/protected").await.expect(200);
        by_proxy.get("/authorize").await.expect(200);
    }
    let own = app.bearer.with_token(&ann.token);
    confirm(&own, &factor.code()).await.expect_message(ON);
    let of_bob = app.basic.with_basic("bob", "wrong").get("/protected").await;
    for _ in 0..3 {
        expect_required(&right.get("/protected").await);
        expect_required(&by_proxy.get("/authorize").await);
        let refused = wrong.get("/protected").await;
        refused.expect_detail(401, WRONG_PASSWORD);
        assert_eq!(refused.comparable(), of_bob.comparable());
    }
    // A code in place of the password, or appended to it, is not accepted.
    for password in [
        factor.next_code(),
        format!("{}{}", ann.password, factor.next_code()),
    ] {
        let refused = app
            .basic
            .with_basic("ann", &password)
            .get("/protected")
            .await;
        refused.expect_detail(401, WRONG_PASSWORD);
    }
    let envoy = ext_authz::client(&app.auth().address("grpc")).await;
    let credentials = STANDARD.encode(format!("ann:{}", ann.password));
    let check = ext_authz::check(Some("*"), Some(&format!("Basic {credentials}")));
    ext_authz::decide(&envoy, check)
        .await
        .expect_refused(16, 401, REQUIRED);
    app.basic
        .with_basic("bob", &bob.password)
        .get("/protected")
        .await
        .expect(200);

    let admin = app.admin().await;
    let path = format!("/users/{}/second-factor", ann.id);
    let removed = app.bearer.with_token(&admin.token).delete(&path).await;
    removed.expect_message(OFF);
    right.get("/protected").await.expect(200);
    by_proxy.get("/authorize").await.expect(200);
}

async fn a_password_that_a_replica_remembers_is_refused_from_the_next_request_on(store: Store) {
    let (app, other, [here, there]) = two_replicas(TestSetup::all_in_one(store)).await;
    // Programs use one replica, only with HTTP Basic. People use the other one.
    let basic = Api::at(&other.address("basic"));
    assert_eq!(here.base(), other.address("bearer"));
    for round in 0..5 {
        let user = app.user(&format!("user {round}")).await;
        let remembered = basic.with_basic(&user.username, &user.password);
        // The second response is from the Basic cache.
        for _ in 0..2 {
            remembered.get("/protected").await.expect(200);
        }
        let factor = user.turn_on_second_factor(&there).await;
        for _ in 0..2 {
            expect_required(&remembered.get("/protected").await);
        }
        let user = user.log_in_with_code(&there, &factor.next_code()).await;
        let own = there.with_token(&user.token);
        turn_off(&own, &factor.recovery_codes[0])
            .await
            .expect_message(OFF);
        remembered.get("/protected").await.expect(200);
    }
}
