//! The record in the database: admins read every change with its actor, and every user reads their
//! own entries.

use crate::{api_keys::create_key, sessions::sign_in};
use e2e::{Api, TestSetup, eventually, for_all_deployments, for_two_deployments};
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(each_change_is_in_the_record_of_the_next_request_with_its_actor);
for_two_deployments!(
    the_record_is_found_by_user_actor_and_event_in_pages,
    only_admins_read_the_record_and_others_their_own_without_the_addresses_of_others,
);

async fn entries(api: &Api, path: &str) -> Vec<Value> {
    let body = api.get(path).await.expect(200).json();
    body["entries"].as_array().expect("entries").clone()
}

fn events(entries: &[Value]) -> Vec<&str> {
    entries
        .iter()
        .map(|entry| entry["event"].as_str().expect("text"))
        .collect()
}

async fn each_change_is_in_the_record_of_the_next_request_with_its_actor(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    let ann = app.user("ann").await;
    let user = format!("/users/{}", ann.id);
    api.put(&format!("{user}/role"), &json!({ "role": "author" }))
        .await
        .expect(200);
    let patch = |disabled| {
        api.request(Method::PATCH, &user)
            .json(&json!({ "disabled": disabled }))
    };
    for disabled in [true, false] {
        api.send(patch(disabled)).await.expect(200);
    }
    api.put(
        &format!("{user}/password"),
        &json!({ "password": "another" }),
    )
    .await
    .expect(200);
    api.send(api.request(Method::DELETE, &user))
        .await
        .expect(200);
    let found = entries(
        &api,
        &format!("/audit?actor_id={}&user_id={}", admin.id, ann.id),
    )
    .await;
    let expected = [
        "user_deleted",
        "password_set",
        "user_enabled",
        "user_disabled",
        "role_changed",
    ];
    assert_eq!(events(&found), expected);
    for entry in &found {
        let fields = [
            "user_id",
            "username",
            "actor_id",
            "actor",
            "actor_key",
            "client_address",
        ];
        let found = fields.map(|field| entry[field].clone());
        let expected = [
            json!(ann.id),
            json!("ann"),
            json!(admin.id),
            json!("admin"),
            Value::Null,
            json!("127.0.0.1"),
        ];
        assert_eq!(found, expected, "{entry}");
        assert!(
            entry["request_id"].is_string() && entry["time"].is_string(),
            "{entry}"
        );
    }
    assert_eq!(
        found[4]["details"],
        json!({ "from": "user", "to": "author" })
    );
    let all = eventually("the logins", async || {
        let all = entries(&api, "/audit?limit=200").await;
        events(&all).contains(&"login_ok").then_some(all)
    });
    let all = all.await;
    let revisions: Vec<_> = all
        .iter()
        .map(|it| it["revision"].as_u64().expect("one"))
        .collect();
    let count = u64::try_from(revisions.len()).expect("few");
    assert_eq!(revisions, (1..=count).rev().collect::<Vec<_>>(), "no gaps");
    let text = json!(all).to_string();
    for secret in [&ann.password, "another", &ann.token, "$2b$"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
}

async fn the_record_is_found_by_user_actor_and_event_in_pages(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let api = app.bearer.with_token(&admin.token);
    for name in ["ann", "bob", "eve"] {
        app.user(name).await;
    }
    let registered = entries(&api, "/audit?event=registered").await;
    assert_eq!(registered.len(), 3);
    let bob = &registered[1];
    let of_bob = entries(
        &api,
        &format!("/audit?event=registered&user_id={}", bob["user_id"]),
    )
    .await;
    assert_eq!(of_bob, std::slice::from_ref(bob));
    let (mut paged, mut path) = (Vec::new(), "/audit?event=registered&limit=2".to_owned());
    loop {
        let body = api.get(&path).await.expect(200).json();
        paged.extend(body["entries"].as_array().expect("entries").clone());
        let Some(next) = body["next"].as_u64() else {
            break;
        };
        path = format!("/audit?event=registered&limit=2&after={next}");
    }
    assert_eq!(paged, registered);
    assert_eq!(
        entries(&api, "/audit?event=nothing").await,
        [Value::Null; 0]
    );
    let detail = r#"Query parameter "after" must be a whole number from 1."#;
    api.get("/audit?after=0").await.expect_detail(400, detail);
}

async fn only_admins_read_the_record_and_others_their_own_without_the_addresses_of_others(
    setup: TestSetup,
) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let ann = app.user_with_role("ann", "author").await;
    let own = app.bearer.with_token(&ann.token);
    own.get("/audit")
        .await
        .expect_detail(403, "Insufficient privileges.");
    app.bearer
        .get("/audit")
        .await
        .expect_detail(401, "Not authenticated.");
    app.bearer
        .get("/profile/audit")
        .await
        .expect_detail(401, "Not authenticated.");
    let admin_api = app.bearer.with_token(&admin.token);
    let key = create_key(&admin_api, &json!({ "name": "reader", "role": "author" }))
        .await
        .0;
    let by_key = app.bearer.with_token(&key);
    by_key
        .get("/audit")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let key = create_key(&admin_api, &json!({ "name": "auditor" }))
        .await
        .0;
    app.bearer.with_token(&key).get("/audit").await.expect(200);
    let created = entries(&admin_api, "/audit?event=api_key_created").await;
    assert_eq!(created.len(), 2, "{created:?}");
    assert!(
        !json!(created).to_string().contains(&key[8..]),
        "{created:?}"
    );
    admin_api
        .put(
            &format!("/users/{}/role", ann.id),
            &json!({ "role": "user" }),
        )
        .await
        .expect(200);
    own.get("/audit")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let (session, _) = sign_in(&app, &ann).await;
    let found = entries(&session, "/profile/audit?limit=200").await;
    assert!(
        found.iter().all(|entry| entry["user_id"] == json!(ann.id)),
        "{found:?}"
    );
    let of = |event: &str| {
        let entry = found.iter().find(|it| it["event"] == event).expect(event);
        (entry["actor"].clone(), entry["client_address"].clone())
    };
    assert_eq!(of("role_changed"), (json!("admin"), Value::Null));
    assert_eq!(of("session_created"), (json!("ann"), json!("127.0.0.1")));
    assert_eq!(of("registered"), (json!("ann"), json!("127.0.0.1")));
    own.get("/profile/audit?user_id=1")
        .await
        .expect_detail(400, r#"Query parameter "user_id" is not known."#);
}
