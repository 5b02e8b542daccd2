//! The audit log of logouts and API keys.

use crate::{api_keys::create_key, audit::audit};
use e2e::{Process, TestSetup, TestUser, eventually, for_two_deployments, grpc};
use reqwest::Method;
use rolegate_proto::auth_v1::{
    AnyAuthenticated, AuthorizeRequest, BatchAuthorizeRequest, authorize_request::Requirement,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

for_two_deployments!(
    ends_of_tokens_and_changes_of_api_keys_are_audited,
    denials_of_api_keys_and_sessions_name_their_start,
    uses_and_refusals_of_api_keys_are_audited_and_no_key_changes_its_own_user,
    decisions_about_api_keys_are_audited_with_each_client_address,
    untrusted_and_malformed_client_addresses_of_decisions_are_ignored,
);

fn without_ids(mut lines: Vec<Value>) -> Vec<Value> {
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    lines
}

async fn ends_of_tokens_and_changes_of_api_keys_are_audited(setup: TestSetup) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let own = app.bearer.with_token(&ann.token);
    let as_admin = app.bearer.with_token(&admin.token);
    let delete = async |api: &e2e::Api, path: &str| {
        api.send(api.request(Method::DELETE, path))
            .await
            .expect(200);
    };
    let (_, one) = create_key(&own, &json!({ "name": "one" })).await;
    let (_, two) = create_key(&own, &json!({ "name": "two" })).await;
    delete(&own, &format!("/profile/keys/{}", one["id"])).await;
    delete(&as_admin, &format!("/users/{}/keys", ann.id)).await;
    own.send(own.request(Method::POST, "/logout"))
        .await
        .expect(200);
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

async fn denials_of_api_keys_and_sessions_name_their_start(setup: TestSetup) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let admin = app.admin().await;
    let own = app.bearer.with_token(&admin.token);
    let (key, stored) = create_key(&own, &json!({ "name": "one", "role": "user" })).await;
    let api = app.bearer.with_token(&key);
    for _ in 0..3 {
        api.get("/admin").await.expect(403);
        api.send(api.request(Method::POST, "/logout"))
            .await
            .expect(403);
    }
    let ann = app.user("ann").await;
    let login = json!({ "username": ann.username, "password": ann.password });
    let session = app
        .bearer
        .post("/sessions", &login)
        .await
        .expect(201)
        .json();
    let session = session["token"].as_str().expect("a token");
    for _ in 0..2 {
        app.bearer
            .with_token(session)
            .get("/author")
            .await
            .expect(403);
    }
    let lines = without_ids(audit(app.gateway(), "access_denied", 3).await);
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
        json!({
            "event": "access_denied", "session": session[..8], "method": "GET",
            "route": "/author", "required_roles": "author,admin", "reason": reason,
        }),
    ];
    assert_eq!(lines, expected);
}

async fn uses_and_refusals_of_api_keys_are_audited_and_no_key_changes_its_own_user(
    setup: TestSetup,
) {
    let app = setup
        .with("LOG_FORMAT", "json")
        .with("RUST_LOG", "off")
        .start()
        .await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (key, stored) = create_key(
        &app.bearer.with_token(&admin.token),
        &json!({ "name": "one" }),
    )
    .await;
    let api = app.bearer.with_token(&key);
    let own = format!("/users/{}", admin.id);
    let demoted = api
        .put(&format!("{own}/role"), &json!({ "role": "user" }))
        .await;
    demoted.expect_detail(403, "Insufficient privileges.");
    let update = api
        .request(Method::PATCH, &own)
        .json(&json!({ "disabled": true }));
    api.send(update)
        .await
        .expect_detail(403, "Insufficient privileges.");
    let deleted = api.send(api.request(Method::DELETE, &own)).await;
    deleted.expect_detail(403, "Insufficient privileges.");
    for _ in 0..3 {
        let unknown = format!("rgk_{}", "A".repeat(43));
        app.bearer
            .with_token(&unknown)
            .get("/profile")
            .await
            .expect(401);
    }
    // A role change comes last: once it is logged, all earlier events are logged, too.
    let promoted = api
        .put(
            &format!("/users/{}/role", ann.id),
            &json!({ "role": "author" }),
        )
        .await;
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
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
            .collect::<Vec<_>>()
    };
    let (used, refused) = (recorded("api_key_used"), recorded("api_key_refused"));
    assert!(
        (1..=2).contains(&used.len()) && (1..=2).contains(&refused.len()),
        "{lines}"
    );
    assert_eq!(
        (&used[0]["key_id"], &used[0]["username"]),
        (&stored["id"], &json!("admin"))
    );
    assert_eq!(refused[0]["reason"], "unknown");
}

/// Waits until the events of this kind name exactly these client addresses.
async fn expect_addresses(auth: &Process, event: &str, expected: &[&str]) {
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    eventually(&format!("{event} from {expected:?}"), async || {
        let log = auth.stderr();
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let of_event = lines.filter(|line| line["event"] == event);
        let addresses = of_event.filter_map(|line| Some(line["client_address"].as_str()?.into()));
        (addresses.collect::<BTreeSet<String>>() == expected).then_some(())
    })
    .await;
}

async fn decisions_about_api_keys_are_audited_with_each_client_address(setup: TestSetup) {
    let setup = setup
        .with("LOG_FORMAT", "json")
        .with("TRUSTED_PROXIES", "127.0.0.0/8");
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let own = app.bearer.with_token(&ann.token);
    let (key, _) = create_key(&own, &json!({ "name": "one" })).await;
    let good = app.bearer.with_token(&key);
    let unknown = app.bearer.with_token(&format!("rgk_{}", "A".repeat(43)));
    let clients = ["192.0.2.1", "192.0.2.2", "2001:db8::3"];
    let uses = clients.map(async |client| {
        // Some of these requests share a call to auth-service.
        let use_one = || async {
            let refused = unknown.send_from(client, unknown.request(Method::GET, "/profile"));
            refused.await.expect(401);
            good.send_from(client, good.request(Method::GET, "/profile"))
                .await
                .expect(200);
        };
        futures_util::future::join_all((0..8).map(|_| use_one())).await;
    });
    futures_util::future::join_all(uses).await;
    let proxy = e2e::Api::at(&app.gateway().address("forward")).with_token(&key);
    let decision = proxy.request(Method::GET, "/authorize");
    proxy.send_from("192.0.2.4", decision).await.expect(200);
    let post = json!({ "title": "by a program", "content": "some content" });
    let post = good.request(Method::POST, "/posts").json(&post);
    good.send_from("192.0.2.5", post).await.expect(403);
    expect_addresses(app.auth(), "api_key_refused", &clients).await;
    let [one, two, three] = clients;
    expect_addresses(
        app.auth(),
        "api_key_used",
        &[one, two, three, "192.0.2.4", "192.0.2.5"],
    )
    .await;
}

async fn untrusted_and_malformed_client_addresses_of_decisions_are_ignored(setup: TestSetup) {
    for trusted in [true, false] {
        let network = if trusted {
            "127.0.0.0/8"
        } else {
            "198.51.100.0/24"
        };
        // `rolegate` trusts only its own gateway.
        let is_believed = trusted && !setup.is_all_in_one();
        let setup = setup
            .clone()
            .with("LOG_FORMAT", "json")
            .with("TRUSTED_GATEWAYS", network);
        let app = setup.start().await;
        let ann = app.user("ann").await;
        let (key, _) = create_key(
            &app.bearer.with_token(&ann.token),
            &json!({ "name": "one" }),
        )
        .await;
        let mut client = grpc::client(&app.auth().address("grpc")).await;
        let malformed = [
            "",
            "192.0.2",
            "192.0.2.1:80",
            "a\nb",
            "::ffff:192.0.2.1%eth0",
        ];
        for address in malformed.into_iter().chain(["192.0.2.1"]) {
            let item = AuthorizeRequest {
                access_token: key.clone(),
                requirement: Some(Requirement::AnyAuthenticated(AnyAuthenticated {})),
                client_address: Some(address.to_owned()),
                from_cookie: false,
            };
            client.authorize(item.clone()).await.expect("good");
            let batch = BatchAuthorizeRequest {
                items: vec![item.clone(), item],
            };
            client.batch_authorize(batch).await.expect("decided");
        }
        let reported = if is_believed {
            &["127.0.0.1", "192.0.2.1"][..]
        } else {
            &["127.0.0.1"]
        };
        expect_addresses(app.auth(), "api_key_used", reported).await;
    }
}
