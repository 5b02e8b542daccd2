//! Sessions for the cookie of a domain.

use super::{
    browser::{Browser, Proxies, new_session},
    for_domain,
};
use e2e::{
    TestSetup, for_two_deployments,
    grpc::{self, authenticated, expect_error},
};
use reqwest::Method;
use rolegate_proto::{
    auth_v1::{
        AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, GetCurrentUserRequest,
        RevokeTokensRequest, authorize_outcome::Outcome, authorize_request::Requirement,
    },
    posts_v1::{CreatePostRequest, post_service_client::PostServiceClient},
};
use serde_json::json;
use tonic::Code;

for_two_deployments!(a_session_for_a_domain_is_good_in_its_cookie_only);

/// The session is accepted only from its cookie, because every host of the domain receives it. What
/// each endpoint of the API answers to it is tested in `access`.
#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn a_session_for_a_domain_is_good_in_its_cookie_only(setup: TestSetup) {
    let app = for_domain(setup).start().await;
    let ann = app.user_with_role("ann", "admin").await;
    let (domain, host) = (
        new_session(&app, &ann, true).await,
        new_session(&app, &ann, false).await,
    );
    let proxies = Proxies::of(&app).await;
    proxies
        .ask(&Browser::get().cookie(&domain))
        .await
        .expect_passed("admin");
    for cookie in [
        format!("__Host-rolegate={domain}"),
        format!("rolegate={domain}"),
        format!("__Host-rolegate-console={domain}"),
        format!("__Host-rolegate={host}"),
        format!("__Secure-rolegate={host}"),
    ] {
        let refused = proxies.ask(&Browser::get().with("cookie", &cookie)).await;
        refused.expect_refused(401, "NOT_AUTHENTICATED");
    }
    let bearer = format!("Bearer {domain}");
    let presented = Browser::navigation()
        .with("authorization", &bearer)
        .cookie(&domain);
    proxies
        .ask(&presented)
        .await
        .expect_refused(401, "TOKEN_INVALID");
    let form = |token: &str| {
        let request = proxies
            .forward
            .with_token(&host)
            .request(Method::POST, "/introspect");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        request.body(format!("token={token}"))
    };
    let inactive = proxies.forward.send(form(&domain)).await;
    inactive.expect_json(200, &json!({ "active": false }));
    assert_eq!(
        proxies.forward.send(form(&host)).await.expect(200).json()["active"],
        true
    );
    let caller = proxies
        .forward
        .with_token(&domain)
        .request(Method::POST, "/introspect");
    proxies.forward.send(caller).await.expect(401);
    app.bearer
        .with_token(&domain)
        .get("/profile")
        .await
        .expect(401);
    app.basic
        .with_basic("ann", &domain)
        .get("/protected")
        .await
        .expect(401);

    let mut client = grpc::client(&app.auth().address("grpc")).await;
    let item = |access_token: &str, from_cookie| AuthorizeRequest {
        access_token: access_token.to_owned(),
        requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
        client_address: None,
        from_cookie,
    };
    expect_error(
        client.authorize(item(&domain, false)).await,
        Code::Unauthenticated,
        "TOKEN_INVALID",
    );
    client.authorize(item(&domain, true)).await.expect("good");
    let items = [
        (&domain, true),
        (&domain, false),
        (&host, true),
        (&host, false),
        (&ann.token, true),
    ];
    let items = items
        .map(|(token, from_cookie)| item(token, from_cookie))
        .to_vec();
    let batch = client
        .batch_authorize(BatchAuthorizeRequest { items })
        .await
        .expect("decided");
    let outcomes = batch.into_inner().outcomes.into_iter();
    let is_good = |outcome: Option<Outcome>| matches!(outcome, Some(Outcome::User(_)));
    let good: Vec<_> = outcomes.map(|outcome| is_good(outcome.outcome)).collect();
    assert_eq!(good, [true, false, true, true, false]);
    let current = client
        .get_current_user(authenticated(GetCurrentUserRequest {}, &domain))
        .await;
    expect_error(current, Code::Unauthenticated, "TOKEN_INVALID");
    let logout = client
        .revoke_tokens(authenticated(RevokeTokensRequest::default(), &domain))
        .await;
    expect_error(logout, Code::Unauthenticated, "TOKEN_INVALID");
    let of_other = RevokeTokensRequest {
        user_id: Some(ann.id),
        from_cookie: true,
        ..RevokeTokensRequest::default()
    };
    let with_user = RevokeTokensRequest {
        cookie_sessions: vec![domain.clone()],
        ..of_other.clone()
    };
    let without_cookie = RevokeTokensRequest {
        cookie_sessions: vec![domain.clone()],
        ..RevokeTokensRequest::default()
    };
    for refused in [of_other, with_user, without_cookie] {
        let refused = client.revoke_tokens(authenticated(refused, &domain)).await;
        expect_error(refused, Code::InvalidArgument, "REQUEST_INVALID");
    }
    let mut posts = PostServiceClient::new(grpc::channel(&app.posts_address()).await);
    let post = CreatePostRequest {
        title: "title".to_owned(),
        content: "content".to_owned(),
    };
    let post = posts.create_post(authenticated(post, &domain)).await;
    expect_error(post, Code::Unauthenticated, "TOKEN_INVALID");
    proxies
        .ask(&Browser::get().cookie(&domain))
        .await
        .expect_passed("admin");
}
