//! Tests writes while another process locks the SQLite file.

use e2e::{Store, TestSetup};
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};

#[tokio::test]
async fn write_reported_as_failed_is_not_applied_later() {
    let app = TestSetup::split(Store::Sqlite).start().await;
    let (admin, zoe) = (app.admin().await, app.user("zoe").await);
    let api = app.bearer.with_token(&admin.token);
    let draft = |title: &str| json!({ "title": title, "content": "Content." });
    api.post("/posts", &draft("First")).await.expect(201);
    let mut others = Vec::new();
    for url in [app.database.url(), app.database.posts_url()] {
        let mut other = SqliteConnection::connect(&url).await.expect("opened");
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .expect("locked");
        others.push(other);
    }
    let user = |name: &str| json!({ "username": name, "password": "open sesame" });
    let (ann, draft_of_second, other_password) = (
        user("ann"),
        draft("Second"),
        json!({ "password": "another one" }),
    );
    let path = format!("/users/{}/password", zoe.id);
    let (registered, posted, set) = tokio::join!(
        app.bearer.post("/register", &ann),
        api.post("/posts", &draft_of_second),
        api.put(&path, &other_password),
    );
    for response in [registered, posted, set] {
        response.expect_detail(503, "Service temporarily unavailable.");
    }
    for other in others {
        other.close().await.expect("unlocked");
    }
    // Writes are serialized, so a leftover write would be applied before these.
    app.bearer.post("/register", &user("bob")).await.expect(200);
    api.post("/posts", &draft("Third")).await.expect(201);
    assert_eq!(app.database.user("ann").await, None);
    let titles: Vec<_> = api.get("/posts").await.expect(200).json()["posts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|post| post["title"].clone())
        .collect();
    assert_eq!(titles, ["First", "Third"]);
    app.bearer
        .with_token(&zoe.token)
        .get("/profile")
        .await
        .expect(200);
}
