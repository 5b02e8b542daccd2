//! Tests what the record and the log say about links: the user and the time, and never the token.

use super::{DONE, expect_invalid, new_link, redeem};
use crate::audit::audit;
use e2e::{TestSetup, eventually, for_two_deployments};
use reqwest::Method;
use serde_json::{Value, json};

for_two_deployments!(
    links_are_in_the_record_and_the_audit_without_their_tokens,
    refused_links_are_in_the_record_and_the_audit_with_the_reason_that_no_client_learns,
);

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

    let mut lines = audit(app.auth(), "password_", 4).await;
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
    let refused = json!({ "event": "password_link_refused", "reason": "unknown" });
    assert_eq!(lines, [created.clone(), created, refused, set]);

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

async fn refused_links_are_in_the_record_and_the_audit_with_the_reason_that_no_client_learns(
    setup: TestSetup,
) {
    let setup = setup
        .with("LOG_FORMAT", "json")
        .with("LOGIN_FAILURE_LIMIT", "4");
    let app = setup.start().await;
    let admin = app.admin().await;
    let as_admin = app.bearer.with_token(&admin.token);
    let ann = app.user("ann").await;
    let bob = app.user("bob").await;
    let expired = new_link(&app, &admin, ann.id).await;
    app.database
        .execute("UPDATE password_link SET expires_at = 1")
        .await;
    let disable = as_admin
        .request(Method::PATCH, &format!("/users/{}", bob.id))
        .json(&json!({ "disabled": true }));
    as_admin.send(disable).await.expect(200);
    let of_disabled = new_link(&app, &admin, bob.id).await;
    let unknown: String = expired[4..].chars().rev().collect();
    let unknown = format!("rgl_{unknown}");
    for token in [expired.as_str(), &of_disabled, "rgl_", &unknown] {
        expect_invalid(&redeem(&app.bearer, token, "chosen").await);
    }
    for _ in 0..3 {
        redeem(&app.bearer, &unknown, "chosen").await.expect(429);
    }

    let mut lines = audit(app.auth(), "password_link_refused", 5).await;
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    let of_user = |id: i64, username: &str, reason: &str| {
        json!({
            "event": "password_link_refused", "user_id": id, "username": username, "reason": reason,
        })
    };
    let of_nobody = |reason: &str| json!({ "event": "password_link_refused", "reason": reason });
    assert_eq!(
        lines,
        [
            of_user(ann.id, "ann", "expired"),
            of_user(bob.id, "bob", "disabled"),
            of_nobody("unknown"),
            of_nobody("unknown"),
            of_nobody("too_many_attempts"),
        ]
    );
    // The number of rows is limited, so the refusals that concern no user may share one row.
    let rows = eventually("the rows", async || {
        let shown = as_admin.get("/audit?event=password_link_refused").await;
        let shown = shown.expect(200).json();
        let entries = shown["entries"].as_array().expect("entries").clone();
        (entries.len() >= 3).then_some(entries)
    });
    let rows = rows.await;
    for (id, reason) in [
        (json!(ann.id), "expired"),
        (json!(bob.id), "disabled"),
        (Value::Null, "unknown"),
    ] {
        let is_meant =
            |row: &&Value| row["user_id"] == id && row["details"] == json!({ "reason": reason });
        let row = rows.iter().find(is_meant).expect(reason);
        assert_eq!(row["client_address"], "127.0.0.1", "{row}");
    }
    let said = format!("{rows:?}{}{}", app.auth().stderr(), app.gateway().stderr());
    for token in [&expired, &of_disabled, &unknown] {
        assert!(
            !said.contains(&token[4..]),
            "a link is kept or logged: {said}"
        );
    }
}
