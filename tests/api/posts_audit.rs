//! The audit log of posts, which says who changed which post and never what the post says.

use crate::audit::{audit, cancel_while_writing};
use e2e::{
    Api, TestResponse, TestSetup, eventually, for_all_deployments, for_postgres_deployments,
    for_two_deployments,
    grpc::{self, authenticated},
};
use reqwest::Method;
use rolegate_proto::posts_v1::{CreatePostRequest, post_service_client::PostServiceClient};
use serde_json::{Value, json};

for_all_deployments!(every_change_of_a_post_is_logged);
for_two_deployments!(
    denials_name_the_roles_that_may_write_posts,
    logged_address_is_the_client_s,
    no_log_line_contains_post_content,
);
for_postgres_deployments!(write_of_a_cancelled_call_is_still_logged);

/// The prefix of the audited events.
const POSTS: &str = "post_";

fn draft(title: &str) -> Value {
    json!({ "title": title, "content": "content" })
}

async fn delete(api: &Api, path: &str) -> TestResponse {
    api.send(api.request(Method::DELETE, path)).await
}

async fn every_change_of_a_post_is_logged(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let app = setup.start().await;
    let (ann, admin) = (app.user_with_role("ann", "author").await, app.admin().await);
    let bob = app.user_with_role("bob", "author").await;
    let user = app.user("some user").await;
    let [as_ann, as_bob, as_admin, as_user] =
        [&ann, &bob, &admin, &user].map(|user| app.bearer.with_token(&user.token));

    let created = as_ann.post("/posts", &draft("one")).await;
    let id = created.expect(201).json()["id"].clone();
    let path = format!("/posts/{id}");
    let changed = as_ann.put(&path, &draft("two")).await;
    // Refused calls and reads are not audited.
    as_user.post("/posts", &draft("t")).await.expect(403);
    as_bob.put(&path, &draft("t")).await.expect(403);
    delete(&as_bob, &path).await.expect(403);
    as_ann.put(&path, &draft("")).await.expect(400);
    as_ann.put("/posts/999", &draft("t")).await.expect(404);
    delete(&as_ann, "/posts/999").await.expect(404);
    app.bearer.get(&path).await.expect(200);
    app.bearer.get("/posts").await.expect(200);
    let by_admin = as_admin.put(&path, &draft("three")).await;
    let deleted = delete(&as_admin, &path).await;
    let last = as_bob.post("/posts", &draft("four")).await;
    let last_id = last.expect(201).json()["id"].clone();

    let mut lines = audit(app.posts(), POSTS, 5).await;
    for (line, response) in lines
        .iter_mut()
        .zip([&created, &changed, &by_admin, &deleted, &last])
    {
        let id = line
            .as_object_mut()
            .and_then(|line| line.remove("request_id"));
        assert_eq!(
            id,
            response.header("x-request-id").map(Into::into),
            "{line}"
        );
    }
    let by_ann = |event: &str| {
        json!({
            "event": event, "post_id": id, "author_id": ann.id, "actor_id": ann.id, "actor": "ann",
        })
    };
    let by_admin = |event: &str| {
        json!({
            "event": event, "post_id": id, "author_id": ann.id, "actor_id": admin.id,
            "actor": "admin",
        })
    };
    let expected = [
        by_ann("post_created"),
        by_ann("post_updated"),
        by_admin("post_updated"),
        by_admin("post_deleted"),
        json!({
            "event": "post_created", "post_id": last_id, "author_id": bob.id, "actor_id": bob.id,
            "actor": "bob",
        }),
    ];
    assert_eq!(lines, expected);
}

async fn denials_name_the_roles_that_may_write_posts(setup: TestSetup) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let (ann, bob) = (
        app.user_with_role("ann", "author").await,
        app.user_with_role("bob", "author").await,
    );
    let user = app.user("some user").await;
    let [as_ann, as_bob, as_user] =
        [&ann, &bob, &user].map(|user| app.bearer.with_token(&user.token));
    let created = as_ann.post("/posts", &draft("one")).await;
    let path = format!("/posts/{}", created.expect(201).json()["id"]);
    as_user.post("/posts", &draft("t")).await.expect(403);
    as_bob.put(&path, &draft("t")).await.expect(403);
    delete(&as_bob, &path).await.expect(403);
    let lines = audit(app.gateway(), "access_denied", 3).await;
    let fields = ["actor_id", "method", "route", "required_roles"];
    let denied: Vec<_> = lines
        .iter()
        .map(|line| fields.map(|field| line[field].clone()))
        .collect();
    let expected = [
        [
            json!(user.id),
            json!("POST"),
            json!("/posts"),
            json!("author,admin"),
        ],
        [
            json!(bob.id),
            json!("PUT"),
            json!("/posts/{id}"),
            json!("owner,admin"),
        ],
        [
            json!(bob.id),
            json!("DELETE"),
            json!("/posts/{id}"),
            json!("owner,admin"),
        ],
    ];
    assert_eq!(denied, expected);
}

async fn logged_address_is_the_client_s(setup: TestSetup) {
    let setup = setup
        .with("LOG_FORMAT", "json")
        .with("TRUSTED_PROXIES", "127.0.0.1/32");
    let app = setup.start().await;
    let api = app.bearer.with_token(&app.admin().await.token);
    let request = api
        .request(Method::POST, "/posts")
        .header("x-forwarded-for", "192.0.2.7");
    api.send(request.json(&draft("title"))).await.expect(201);
    let is_it = |line: &str| {
        line.contains(r#""event":"post_created""#)
            && line.contains(r#""client_address":"192.0.2.7""#)
    };
    app.posts().logs("where the client is", is_it).await;
}

async fn no_log_line_contains_post_content(setup: TestSetup) {
    for format in ["json", "pretty"] {
        let app = setup.clone().with("LOG_FORMAT", format).start().await;
        let ann = app.user_with_role("ann", "author").await;
        let session = ann.session(&app.bearer).await;
        // This name cannot be registered, but the safety of the log must not depend on that.
        let name = "ann\nforged  INFO audit: event=\"post_deleted\" actor=\"admin\"\u{1b}[2K\r";
        app.database.rename("ann", name).await;
        // A session is used here, because an access token names its user and would be refused after
        // the renaming.
        let api = app.bearer.with_token(&session.token);
        let body = json!({ "title": "planted title", "content": "planted\ncontent" });
        let response = api.post("/posts", &body).await;
        let post = response.expect(201).json();
        assert_eq!(post["author"], name);
        let path = format!("/posts/{}", post["id"]);
        api.put(&path, &body).await.expect(200);
        delete(&api, &path).await.expect(200);

        let events = if format == "json" {
            r#""event":"post_"#
        } else {
            r#"event="post_"#
        };
        let log = eventually("the audit", async || {
            let log = app.posts().stderr();
            (log.matches(events).count() >= 3).then_some(log)
        })
        .await;
        assert_eq!(log.matches(events).count(), 3, "{log}");
        assert!(!log.contains("planted"), "{log}");
        assert!(!log.contains(['\u{1b}', '\r']), "{log:?}");
        assert!(!log.lines().any(|line| line.starts_with("forged")), "{log}");
        if format == "json" {
            for line in audit(app.posts(), POSTS, 3).await {
                assert_eq!(line["actor"], name, "{line}");
            }
        }
    }
}

async fn write_of_a_cancelled_call_is_still_logged(setup: TestSetup) {
    let setup = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off");
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    let mut client = PostServiceClient::new(grpc::channel(&app.posts_address()).await);
    let request = CreatePostRequest {
        title: "title".to_owned(),
        content: "content".to_owned(),
    };
    let request = authenticated(request, &ann.token);
    let call = async move { client.create_post(request).await };
    let (database, table) = (&app.database, "posts.post");
    cancel_while_writing(database, table, app.posts(), "CreatePost", call).await;
    let line = audit(app.posts(), POSTS, 1).await.remove(0);
    let post = app
        .bearer
        .get(&format!("/posts/{}", line["post_id"]))
        .await
        .expect(200)
        .json();
    assert_eq!(
        (&post["author_id"], &line["author_id"]),
        (&json!(ann.id), &json!(ann.id))
    );
}
