//! What posts stand on is gone: answers say so, and only those about posts.

use e2e::{
    Answer, Api, Process, Program, Store, TestApp, TestDatabase, TestSetup, eventually, split,
};
use reqwest::Method;
use serde_json::json;

split!(without_posts_service_only_posts_are_503, without_auth_service_posts_are_503_too,);

/// A world with a post, its path, and an author to ask for it.
async fn with_a_post(plan: TestSetup) -> (TestApp, String, Api) {
    let world = plan.start().await;
    let ann = world.user_with_role("ann", "author").await;
    let api = world.bearer.with_token(&ann.token);
    let answer = api.post("/posts", &json!({ "title": "t", "content": "c" })).await;
    let path = answer.expect(201).header("location").expect("a location").to_owned();
    (world, path, api)
}

async fn ask_everything(api: &Api, path: &str) -> Vec<Answer> {
    let draft = json!({ "title": "t", "content": "c" });
    vec![
        api.get(path).await,
        api.get("/posts").await,
        api.post("/posts", &draft).await,
        api.put(path, &draft).await,
        api.send(api.request(Method::DELETE, path)).await,
    ]
}

fn expect_outage(answers: &[Answer]) {
    for answer in answers {
        answer.expect_detail(503, "Service temporarily unavailable.");
        let again = answer.header("retry-after").and_then(|text| text.parse::<u32>().ok());
        assert!(again.is_some_and(|seconds| (1..=60).contains(&seconds)), "{answer}");
    }
}

async fn is_read_again(world: &TestApp, path: &str) {
    eventually("posts to be read again", async || {
        let answer = world.bearer.get(path).await;
        assert!([200, 503].contains(&answer.status), "{answer}");
        (answer.status == 200).then_some(())
    })
    .await;
}

async fn without_posts_service_only_posts_are_503(plan: TestSetup) {
    let (mut world, path, api) = with_a_post(plan).await;
    world.kill_posts().await;
    expect_outage(&ask_everything(&api, &path).await);
    // Who may not, is told so by auth-service.
    let draft = json!({ "title": "t", "content": "c" });
    world.bearer.post("/posts", &draft).await.expect_detail(401, "Not authenticated.");
    api.get("/profile").await.expect(200);
    api.get("/author").await.expect(200);
    let ops = Api::at(&world.front().address("ops"));
    ops.get("/readyz").await.expect(200);
    world.start_posts_again().await;
    is_read_again(&world, &path).await;
}

async fn without_auth_service_posts_are_503_too(plan: TestSetup) {
    let (mut world, path, api) = with_a_post(plan).await;
    world.kill_auth().await;
    // A reader is not told that the author was deleted.
    expect_outage(&ask_everything(&api, &path).await);
    let ops = Api::at(&world.posts().address("ops"));
    ops.get("/readyz").await.expect(200);
    world.start_auth_again(None).await;
    is_read_again(&world, &path).await;
}

#[tokio::test]
async fn readiness_of_posts_service_follows_its_store() {
    let plan = TestSetup::split(Store::Postgres).with_database_proxy();
    let (mut world, path, api) = with_a_post(plan).await;
    let ops = Api::at(&world.posts().address("ops"));
    let readiness = async |wanted: u16| {
        eventually("readiness to change", async || {
            (ops.get("/readyz").await.status == wanted).then_some(())
        })
        .await;
    };
    readiness(200).await;
    world.database_proxy().cut();
    readiness(503).await;
    ops.get("/livez").await.expect(200);
    expect_outage(&ask_everything(&api, &path).await);
    world.database_proxy().open();
    readiness(200).await;
    is_read_again(&world, &path).await;
}

/// Beside auth-service, on its database where it is PostgreSQL.
async fn eight_at_once(store: Store) {
    let plan = TestSetup::split(store);
    let (database, folder) = (TestDatabase::create(store).await, std::env::temp_dir());
    let auth = Process::start(plan.auth_program(), &plan.auth_settings(&database.url()), &folder);
    let nowhere = "127.0.0.1:1".parse().expect("an address");
    let settings = plan.posts_settings(&database.posts_url(), nowhere);
    let starting: Vec<_> =
        (0..8).map(|_| Process::start(Program::PostsService, &settings, &folder)).collect();
    auth.ready().await;
    for process in starting {
        let process = process.ready().await;
        let ops = Api::at(&process.address("ops"));
        eventually("readiness", async || (ops.get("/readyz").await.status == 200).then_some(()))
            .await;
    }
    assert_eq!(database.count_users().await, 1, "the admin alone");
}

#[tokio::test]
async fn eight_posts_services_at_once_share_a_fresh_postgres_with_auth_service() {
    eight_at_once(Store::Postgres).await;
}

#[tokio::test]
async fn eight_posts_services_at_once_share_a_fresh_sqlite_file() {
    eight_at_once(Store::Sqlite).await;
}
