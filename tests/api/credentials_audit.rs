//! The audit of logouts and API keys.

use crate::{api_keys::create_key, audit::audit};
use e2e::{TestSetup, TestUser, for_all_deployments};
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(
    ends_of_tokens_and_changes_of_api_keys_are_audited,
    denials_of_api_keys_name_their_prefix,
    uses_and_refusals_of_api_keys_are_audited_and_no_key_changes_its_own_user,
);

fn without_ids(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        line.as_object_mut().and_then(|line| line.remove("request_id")).expect("an id");
    }
    lines
}

async fn ends_of_tokens_and_changes_of_api_keys_are_audited(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let own = app.bearer.with_token(&ann.token);
    let as_admin = app.bearer.with_token(&admin.token);
    let delete = async |api: &e2e::Api, path: &str| {
        api.send(api.request(Method::DELETE, path)).await.expect(200);
    };
    let (_, one) = create_key(&own, &json!({ "name": "one" })).await;
    let (_, two) = create_key(&own, &json!({ "name": "two" })).await;
    delete(&own, &format!("/profile/keys/{}", one["id"])).await;
    delete(&as_admin, &format!("/users/{}/keys", ann.id)).await;
    own.send(own.request(Method::POST, "/logout")).await.expect(200);
    TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    delete(&as_admin, &format!("/users/{}/tokens", ann.id)).await;
    let key = |event: &str, id: &Value, actor: &TestUser| {
        json!({
            "event": event, "user_id": ann.id, "key_id": id, "actor_id": actor.id,
            "actor": actor.username,
        })
    };
    let created = |id: &Value| json!({ "event": "api_key_created", "user_id": ann.id, "username": "ann", "key_id": id });
    let keys = without_ids(audit(app.auth(), "api_key", 4).await);
    let expected = [
        created(&one["id"]),
        created(&two["id"]),
        key("api_key_deleted", &one["id"], &ann),
        key("api_key_deleted", &two["id"], &admin),
    ];
    assert_eq!(keys, expected);
    let revoked = |actor: &TestUser| {
        json!({
            "event": "tokens_revoked", "user_id": ann.id, "username": "ann", "role": "user",
            "actor_id": actor.id, "actor": actor.username,
        })
    };
    let tokens = without_ids(audit(app.auth(), "tokens_revoked", 2).await);
    assert_eq!(tokens, [revoked(&ann), revoked(&admin)]);
}

async fn denials_of_api_keys_name_their_prefix(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off").start().await;
    let admin = app.admin().await;
    let own = app.bearer.with_token(&admin.token);
    let (key, stored) = create_key(&own, &json!({ "name": "one", "role": "user" })).await;
    let api = app.bearer.with_token(&key);
    for _ in 0..3 {
        api.get("/admin").await.expect(403);
        api.send(api.request(Method::POST, "/logout")).await.expect(403);
    }
    let lines = without_ids(audit(app.gateway(), "access_denied", 2).await);
    let (prefix, reason) = (&stored["prefix"], "ROLE_INSUFFICIENT");
    let expected = [
        json!({
            "event": "access_denied", "api_key": prefix, "method": "GET", "route": "/admin",
            "required_roles": "admin", "reason": reason,
        }),
        json!({
            "event": "access_denied", "api_key": prefix, "method": "POST", "route": "/logout",
            "reason": reason,
        }),
    ];
    assert_eq!(lines, expected);
}

async fn uses_and_refusals_of_api_keys_are_audited_and_no_key_changes_its_own_user(
    setup: TestSetup,
) {
    let app = setup.with("LOG_FORMAT", "json").with("RUST_LOG", "off").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (key, stored) =
        create_key(&app.bearer.with_token(&admin.token), &json!({ "name": "one" })).await;
    let api = app.bearer.with_token(&key);
    let own = format!("/users/{}", admin.id);
    let demoted = api.put(&format!("{own}/role"), &json!({ "role": "user" })).await;
    demoted.expect_detail(403, "Insufficient privileges.");
    let update = api.request(Method::PATCH, &own).json(&json!({ "disabled": true }));
    api.send(update).await.expect_detail(403, "Insufficient privileges.");
    let deleted = api.send(api.request(Method::DELETE, &own)).await;
    deleted.expect_detail(403, "Insufficient privileges.");
    for _ in 0..3 {
        let unknown = format!("rgk_{}", "A".repeat(43));
        app.bearer.with_token(&unknown).get("/profile").await.expect(401);
    }
    // The last line, so that no earlier one can be missing.
    let promoted = api.put(&format!("/users/{}/role", ann.id), &json!({ "role": "author" })).await;
    promoted.expect(200);
    let changed = without_ids(audit(app.auth(), "role_changed", 1).await);
    let expected = json!({
        "event": "role_changed", "user_id": ann.id, "username": "ann", "from": "user",
        "to": "author", "actor_id": admin.id, "actor": "admin", "actor_key": stored["id"],
    });
    assert_eq!(changed, [expected]);
    let lines = app.auth().stderr();
    let recorded = |event: &str| {
        let lines = lines.lines().filter(|line| line.contains(event));
        lines.map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>()
    };
    let (used, refused) = (recorded("api_key_used"), recorded("api_key_refused"));
    assert!((1..=2).contains(&used.len()) && (1..=2).contains(&refused.len()), "{lines}");
    assert_eq!((&used[0]["key_id"], &used[0]["username"]), (&stored["id"], &json!("admin")));
    assert_eq!(refused[0]["reason"], "unknown");
}
