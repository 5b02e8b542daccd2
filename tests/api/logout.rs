//! How access tokens end: by `POST /logout`, `DELETE /users/{user_id}/tokens` and `RevokeTokens`.

use e2e::{
    TestApp, TestResponse, TestSetup, TestUser, for_all_deployments, for_two_deployments,
    grpc::{self, authenticated},
    token,
};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, LoginRequest, RevokeTokensRequest,
    auth_service_client::AuthServiceClient, authorize_request::Requirement,
};
use tonic::transport::Channel;

for_all_deployments!(logout_ends_every_token_of_the_user_and_a_login_after_it_is_good);
for_two_deployments!(
    logout_holds_on_every_replica_from_the_acknowledgement_on,
    many_logouts_by_one_token_do_not_keep_the_user_out,
    many_revocations_by_an_admin_do_not_keep_the_user_out,
    admin_ends_the_tokens_of_another_user,
);

const ENDED: &str = "Invalid or expired token.";

async fn log_out(app: &TestApp, token: &str) -> TestResponse {
    let api = app.bearer.with_token(token);
    api.send(api.request(Method::POST, "/logout")).await
}

async fn logout_ends_every_token_of_the_user_and_a_login_after_it_is_good(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    // Tokens of several devices. Most are issued within the same second as the next logout.
    let mut issued = vec![ann.token.clone()];
    for _ in 0..3 {
        let other = TestUser::log_in(&app.bearer, "ann", &ann.password)
            .await
            .token;
        log_out(&app, &other).await.expect_message("Logged out.");
        issued.push(other);
        for token in &issued {
            let refused = app.bearer.with_token(token).get("/profile").await;
            refused.expect_detail(401, ENDED);
            refused.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
            log_out(&app, token).await.expect_detail(401, ENDED);
        }
        let new = TestUser::log_in(&app.bearer, "ann", &ann.password)
            .await
            .token;
        app.bearer
            .with_token(&new)
            .get("/profile")
            .await
            .expect(200);
        issued.push(new);
    }
    app.bearer
        .with_token(&admin.token)
        .get("/admin")
        .await
        .expect(200);
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(200);
}

fn authorize(token: &str) -> AuthorizeRequest {
    let requirement = Some(Requirement::AnyAuthenticated(AnyAuthenticated {}));
    AuthorizeRequest {
        access_token: token.to_owned(),
        requirement,
        client_address: None,
        from_cookie: false,
    }
}

async fn log_in(client: &mut AuthServiceClient<Channel>, user: &TestUser) -> String {
    let (username, password) = (user.username.clone(), user.password.clone());
    let login = client
        .login(LoginRequest {
            username,
            password,
            otp: None,
        })
        .await;
    login.expect("logged in").into_inner().access_token
}

async fn logout_holds_on_every_replica_from_the_acknowledgement_on(setup: TestSetup) {
    let mut app = setup.start().await;
    let ann = app.user("ann").await;
    let other = app.start_second_auth().await;
    let mut replicas = [
        grpc::client(&app.auth().address("grpc")).await,
        grpc::client(&other.address("grpc")).await,
    ];
    for round in 0..10 {
        let old = log_in(&mut replicas[round % 2], &ann).await;
        for replica in &mut replicas {
            replica.authorize(authorize(&old)).await.expect("good");
        }
        let request = authenticated(RevokeTokensRequest::default(), &old);
        replicas[round / 2 % 2]
            .revoke_tokens(request)
            .await
            .expect("logged out");
        for replica in &mut replicas {
            let refused = replica.authorize(authorize(&old)).await;
            grpc::expect_error(refused, tonic::Code::Unauthenticated, "TOKEN_INVALID");
        }
        let new = log_in(&mut replicas[round % 2], &ann).await;
        for replica in &mut replicas {
            replica
                .authorize(authorize(&new))
                .await
                .expect("good at once, on every replica");
        }
    }
}

async fn many_logouts_by_one_token_do_not_keep_the_user_out(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let logouts = (0..100).map(|_| {
        let api = app.bearer.with_token(&ann.token);
        tokio::spawn(async move { api.send(api.request(Method::POST, "/logout")).await })
    });
    let mut ended = 0;
    for logout in logouts.collect::<Vec<_>>() {
        match logout.await.expect("it ended") {
            response if response.status == 200 => ended += 1,
            response => _ = response.expect_detail(401, ENDED),
        }
    }
    assert_eq!(ended, 1);
    let new = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
}

async fn many_revocations_by_an_admin_do_not_keep_the_user_out(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let started = token::now();
    let api = app.bearer.with_token(&admin.token);
    let path = format!("/users/{}/tokens", ann.id);
    // Revokes more often than seconds pass, by more than the accepted difference between clocks. If
    // each revocation moved `tokens_not_before` on by a second, the user could no longer log in.
    let mut revoked = 0;
    while revoked < 120 + token::now() - started {
        api.send(api.request(Method::DELETE, &path))
            .await
            .expect(200);
        revoked += 1;
    }
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect_detail(401, ENDED);
    let new = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect_detail(401, ENDED);
}

async fn admin_ends_the_tokens_of_another_user(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let end = async |actor: &TestUser, id: &str| {
        let api = app.bearer.with_token(&actor.token);
        api.send(api.request(Method::DELETE, &format!("/users/{id}/tokens")))
            .await
    };
    end(&ann, "1")
        .await
        .expect_detail(403, "Insufficient privileges.");
    end(&admin, "999999")
        .await
        .expect_detail(404, "User not found.");
    let detail = "Path parameter \"user_id\" must be an integer.";
    end(&admin, "x").await.expect_detail(400, detail);
    end(&admin, &ann.id.to_string())
        .await
        .expect_message("Tokens revoked.");
    app.bearer
        .with_token(&ann.token)
        .get("/profile")
        .await
        .expect_detail(401, ENDED);
    let new = TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
    app.bearer
        .with_token(&admin.token)
        .get("/admin")
        .await
        .expect(200);
    end(&admin, &admin.id.to_string())
        .await
        .expect_message("Tokens revoked.");
    app.bearer
        .with_token(&admin.token)
        .get("/admin")
        .await
        .expect_detail(401, ENDED);
}
