//! What the record and the log say of links: who and when, and never the token.

use super::{DONE, expect_invalid, new_link, redeem};
use crate::audit::audit;
use e2e::{TestSetup, for_two_deployments};
use serde_json::{Value, json};

for_two_deployments!(links_are_in_the_record_and_the_audit_without_their_tokens);

async fn links_are_in_the_record_and_the_audit_without_their_tokens(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let (replaced, used) = (
        new_link(&app, &admin, ann.id).await,
        new_link(&app, &admin, ann.id).await,
    );
    expect_invalid(&redeem(&app.bearer, &replaced, "x").await);
    redeem(&app.bearer, &used, "chosen by ann")
        .await
        .expect_message(DONE);
    let created = as_admin.post("/users", &json!({ "username": "bob" })).await;
    let bob = created.expect(201).json()["id"].clone();

    let found = as_admin
        .get(&format!("/audit?user_id={}", ann.id))
        .await
        .expect(200)
        .json();
    let entries = found["entries"].as_array().expect("entries").iter();
    let of_links = entries.filter(|it| it["event"].as_str().is_some_and(|it| it.contains("_link")));
    let fields = [
        "event",
        "user_id",
        "username",
        "actor_id",
        "actor",
        "client_address",
    ];
    let rows: Vec<_> = of_links
        .map(|entry| fields.map(|field| entry[field].clone()))
        .collect();
    let row = |event: &str, actor: &str, actor_id: i64| {
        let (of, by) = (
            (json!(ann.id), json!("ann")),
            (json!(actor_id), json!(actor)),
        );
        [json!(event), of.0, of.1, by.0, by.1, json!("127.0.0.1")]
    };
    let created = || row("password_link_created", "admin", admin.id);
    assert_eq!(
        rows,
        [
            row("password_set_by_link", "ann", ann.id),
            created(),
            created()
        ]
    );
    let of_bob = as_admin
        .get(&format!("/audit?user_id={bob}"))
        .await
        .expect(200)
        .json();
    assert_eq!(of_bob["entries"][0]["event"], "user_created");

    let mut lines = audit(app.auth(), "password_", 3).await;
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    let created = json!({
        "event": "password_link_created", "user_id": ann.id, "username": "ann",
        "actor_id": admin.id, "actor": "admin",
    });
    let set = json!({ "event": "password_set_by_link", "user_id": ann.id, "username": "ann" });
    assert_eq!(lines, [created.clone(), created, set]);

    let copy = app.database.copy_of_users().await;
    let copy = String::from_utf8_lossy(&copy);
    let shown: Value = as_admin.get("/audit?limit=200").await.expect(200).json();
    let said = format!(
        "{copy}{shown}{}{}",
        app.auth().stderr(),
        app.gateway().stderr()
    );
    assert!(said.contains("password_link_created"));
    for token in [&replaced, &used] {
        assert!(
            !said.contains(&token[4..]),
            "a link is kept or logged: {said}"
        );
    }
}
