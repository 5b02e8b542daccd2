//! Tests a deployment whose posts-service, or a dependency of it, is unavailable: only requests for posts get a 503.

use e2e::{
    Api, Process, Program, Store, TestApp, TestDatabase, TestResponse, TestSetup, eventually,
    for_both_stores, for_split_deployments,
};
use reqwest::Method;
use serde_json::json;

for_split_deployments!(
    only_posts_return_503_without_posts_service,
    posts_return_503_without_auth_service,
);
for_both_stores!(eight_posts_services_start_at_once_on_an_empty_database);

/// Returns a deployment with a post, the path of the post, and the API with its author's token.
async fn with_a_post(setup: TestSetup) -> (TestApp, String, Api) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let api = app.bearer.with_token(&ann.token);
    let response = api
        .post("/posts", &json!({ "title": "t", "content": "c" }))
        .await;
    let path = response
        .expect(201)
        .header("location")
        .expect("a location")
        .to_owned();
    (app, path, api)
}

async fn ask_everything(api: &Api, path: &str) -> Vec<TestResponse> {
    let draft = json!({ "title": "t", "content": "c" });
    vec![
        api.get(path).await,
        api.get("/posts").await,
        api.post("/posts", &draft).await,
        api.put(path, &draft).await,
        api.send(api.request(Method::DELETE, path)).await,
    ]
}

fn expect_outage(responses: &[TestResponse]) {
    for response in responses {
        response.expect_detail(503, "Service temporarily unavailable.");
        response.expect_retry_after();
    }
}

async fn is_read_again(app: &TestApp, path: &str) {
    eventually("posts to be read again", async || {
        let response = app.bearer.get(path).await;
        assert!([200, 503].contains(&response.status), "{response}");
        (response.status == 200).then_some(())
    })
    .await;
}

async fn only_posts_return_503_without_posts_service(setup: TestSetup) {
    let (mut app, path, api) = with_a_post(setup).await;
    app.kill_posts().await;
    expect_outage(&ask_everything(&api, &path).await);
    // Refusals of missing or wrong credentials do not need posts-service.
    let draft = json!({ "title": "t", "content": "c" });
    app.bearer
        .post("/posts", &draft)
        .await
        .expect_detail(401, "Not authenticated.");
    api.get("/profile").await.expect(200);
    api.get("/author").await.expect(200);
    let ops = Api::at(&app.gateway().address("ops"));
    ops.get("/readyz").await.expect(200);
    app.start_posts().await;
    is_read_again(&app, &path).await;
}

async fn posts_return_503_without_auth_service(setup: TestSetup) {
    let (mut app, path, api) = with_a_post(setup).await;
    app.kill_auth().await;
    // If the author's name cannot be read, this is an outage and not a deleted author.
    expect_outage(&ask_everything(&api, &path).await);
    let ops = Api::at(&app.posts().address("ops"));
    ops.get("/readyz").await.expect(200);
    app.start_auth(None).await;
    is_read_again(&app, &path).await;
}

#[tokio::test]
async fn readiness_of_posts_service_follows_its_store() {
    let setup = TestSetup::split(Store::Postgres).with_database_proxy();
    let (mut app, path, api) = with_a_post(setup).await;
    let ops = Api::at(&app.posts().address("ops"));
    app.posts().wait_for_readiness(200).await;
    app.database_proxy().cut();
    app.posts().wait_for_readiness(503).await;
    ops.get("/livez").await.expect(200);
    expect_outage(&ask_everything(&api, &path).await);
    app.database_proxy().open();
    app.posts().wait_for_readiness(200).await;
    is_read_again(&app, &path).await;
}

/// Starts eight posts-services at once. On PostgreSQL, they share the database with auth-service.
async fn eight_posts_services_start_at_once_on_an_empty_database(store: Store) {
    let setup = TestSetup::split(store);
    let (database, folder) = (TestDatabase::create(store).await, std::env::temp_dir());
    let auth = Process::start(
        setup.auth_program(),
        &setup.auth_settings(&database.url()),
        &folder,
    );
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let settings = setup.posts_settings(&database.posts_url(), nowhere);
    let starting: Vec<_> = (0..8)
        .map(|_| Process::start(Program::PostsService, &settings, &folder))
        .collect();
    auth.ready().await;
    for process in starting {
        let process = process.ready().await;
        process.wait_for_readiness(200).await;
    }
    assert_eq!(database.count_users().await, 1, "the admin alone");
}
