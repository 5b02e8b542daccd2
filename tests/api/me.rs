//! `GET /me`, which says who is signed in and by which kind of credential.

use crate::{api_keys::create_key, sessions::create_session};
use e2e::{TestSetup, for_all_deployments, for_one_deployment, token};
use serde_json::json;
use std::time::{Duration, UNIX_EPOCH};

for_all_deployments!(me_is_the_stored_user_and_the_kind_and_end_of_the_credential);
for_one_deployment!(me_needs_a_good_credential);

fn time(seconds: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_secs(seconds)).to_string()
}

async fn me_is_the_stored_user_and_the_kind_and_end_of_the_credential(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("jörg, 1").await);
    let by_token = app.bearer.with_token(&ann.token);
    let (session, made) = create_session(&app.bearer, &ann.username, &ann.password).await;
    let (endless, _) = create_key(&by_token, &json!({ "name": "a" })).await;
    let ends = json!({ "name": "b", "role": "user", "expires_at": "2099-01-01T00:00:00Z" });
    let (bound, _) = create_key(&by_token, &ends).await;
    let exp = token::claims(&ann.token)["exp"].as_u64().expect("a time");
    let all = [
        (
            &ann.token,
            json!({ "kind": "access_token", "expires_at": time(exp) }),
        ),
        (
            &session,
            json!({ "kind": "session", "expires_at": made["expires_at"] }),
        ),
        (&endless, json!({ "kind": "api_key", "expires_at": null })),
        (
            &bound,
            json!({ "kind": "api_key", "expires_at": "2099-01-01T00:00:00.000Z" }),
        ),
    ];
    for role in ["user", "author", "admin"] {
        app.set_role(&admin, &ann, role).await.expect(200);
        for (credential, described) in &all {
            let acts_as = if *credential == &bound { "user" } else { role };
            let expected = json!({
                "id": ann.id,
                "username": "jörg, 1",
                "role": acts_as,
                "groups": [],
                "credential": described,
            });
            app.bearer
                .with_token(credential)
                .get("/me")
                .await
                .expect_json(200, &expected);
        }
    }
}

async fn me_needs_a_good_credential(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let missing = app.bearer.get("/me").await;
    missing.expect_detail(401, "Not authenticated.");
    missing.expect_header("www-authenticate", Some("Bearer"));
    for bad in ["x", "rgs_x", "rgk_x", &format!("{}x", ann.token)] {
        let refused = app.bearer.with_token(bad).get("/me").await;
        refused.expect_detail(401, "Invalid or expired token.");
        refused.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
    app.bearer
        .with_basic("ann", &ann.password)
        .get("/me")
        .await
        .expect(401);
    app.basic
        .with_basic("ann", &ann.password)
        .get("/me")
        .await
        .expect_detail(404, "Not Found");
    app.bearer
        .with_token(&ann.token)
        .post("/me", &json!({}))
        .await
        .expect(405);
    app.database.delete("ann").await;
    app.bearer
        .with_token(&ann.token)
        .get("/me")
        .await
        .expect_detail(401, "User not found.");
}
