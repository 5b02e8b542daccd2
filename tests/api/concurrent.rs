//! Under concurrent requests, no response is stale, and none belongs to another request.

use e2e::{SIGNING_SECRET, TestApp, TestSetup, for_one_deployment, for_two_deployments, token};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

for_one_deployment!(no_response_shows_a_role_older_than_its_request);
for_two_deployments!(concurrent_requests_do_not_affect_each_other);

const ROLES: [&str; 3] = ["user", "author", "admin"];

/// Compares each response with the epoch of its request. The epoch is odd while a change is in
/// flight and even once it is acknowledged, so a request within one even epoch can have seen only
/// one role.
///
/// The test `linearizability` reads several gateways and auth-services in the same way, on both
/// stores. This one reads a single process.
async fn no_response_shows_a_role_older_than_its_request(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let epoch = Arc::new(AtomicUsize::new(0));
    let readers: Vec<_> = (0..16)
        .map(|_| {
            let (api, epoch) = (app.bearer.with_token(&ann.token), Arc::clone(&epoch));
            tokio::spawn(async move {
                let mut judged = 0_u32;
                loop {
                    let before = epoch.load(SeqCst);
                    if before == usize::MAX {
                        return judged;
                    }
                    let response = api.get("/profile").await;
                    let role = response.expect(200).json()["role"].clone();
                    if before % 2 == 0 && epoch.load(SeqCst) == before {
                        assert_eq!(role, ROLES[before / 2 % 3], "in epoch {before}: {response}");
                        judged += 1;
                    }
                }
            })
        })
        .collect();
    for change in 1..=60 {
        let role = ROLES[change % 3];
        epoch.fetch_add(1, SeqCst);
        if change % 2 == 0 {
            app.database.set_role("ann", role).await;
        } else {
            app.set_role(&admin, &ann, role).await.expect(200);
        }
        epoch.fetch_add(1, SeqCst);
        // Reads at least once between two changes.
        let response = app.bearer.with_token(&ann.token).get("/profile").await;
        response.expect_json(200, &json!({ "message": "Welcome ann!", "role": role }));
    }
    epoch.store(usize::MAX, SeqCst);
    let mut judged = 0;
    for reader in readers {
        judged += reader.await.expect("no reader saw an old role");
    }
    assert!(judged > 0, "no request fell between two changes");
}

async fn concurrent_requests_do_not_affect_each_other(setup: TestSetup) {
    let app = setup.start().await;
    let mut users = Vec::new();
    for (index, role) in (0..12).zip(ROLES.into_iter().cycle()) {
        let name = format!("user {index}");
        let user = app.user(&name).await;
        app.database.set_role(&name, role).await;
        users.push((name, role, user.token));
    }
    app.user("gone").await;
    let deleted = app.user("deleted").await;
    app.database.delete("deleted").await;
    let hostile = hostile_tokens(&app).await;
    let mut asked = Vec::new();
    for _ in 0..10 {
        for (name, role, token) in &users {
            let (api, wanted) = (app.bearer.with_token(token), (name.clone(), *role));
            asked.push(tokio::spawn(async move {
                let (name, role) = wanted;
                let profile = json!({ "message": format!("Welcome {name}!"), "role": role });
                api.get("/profile").await.expect_json(200, &profile);
                let status = if role == "user" { 403 } else { 200 };
                api.get("/author").await.expect(status);
                let status = if role == "admin" { 200 } else { 403 };
                api.get("/admin").await.expect(status);
            }));
        }
        for token in &hostile {
            let api = app.bearer.with_token(token);
            asked.push(tokio::spawn(async move {
                api.get("/profile").await.expect_error(401);
            }));
        }
        let api = app.bearer.with_token(&deleted.token);
        asked.push(tokio::spawn(async move {
            api.get("/admin")
                .await
                .expect_detail(401, "User not found.");
        }));
    }
    for one in asked {
        one.await.expect("the response was the right one");
    }
}

async fn hostile_tokens(app: &TestApp) -> Vec<String> {
    let claims = token::claims_of(app.admin().await.id);
    let with_sub = |sub: &str| {
        let mut claims = claims.clone();
        claims["sub"] = sub.into();
        token::signed(&token::plain_header(), &claims, SIGNING_SECRET)
    };
    vec![
        "x".to_owned(),
        "x".repeat(8 * 1024),
        token::signed(
            &token::plain_header(),
            &claims,
            "another secret of more than 32 bytes",
        ),
        with_sub("1\0"),
        with_sub("9223372036854775807"),
        with_sub("-9223372036854775808"),
        with_sub(&"9".repeat(30)),
        with_sub("' OR 1=1"),
    ]
}
