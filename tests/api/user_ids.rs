//! The `user_id` in a path, valid and invalid.

use e2e::{TestSetup, for_one_deployment, for_two_deployments};
use reqwest::Method;
use serde_json::json;

for_two_deployments!(unknown_id_is_not_found);
for_one_deployment!(id_other_than_an_integer_is_a_bad_request);

async fn id_other_than_an_integer_is_a_bad_request(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    for id in ["abc", "1.5", "%00", "%D9%A1", "-", "%ff", "1%2F2"] {
        let path = format!("/users/{id}");
        admin.get(&path).await.expect_error(400);
        admin
            .send(admin.request(Method::DELETE, &path))
            .await
            .expect_error(400);
        let path = format!("/users/{id}/password");
        admin
            .put(&path, &json!({ "password": "new" }))
            .await
            .expect_error(400);
    }
    for id in [
        "abc", "1.5", "1e3", "0x1", "%20", "1%20", "%00", "1%00", "%D9%A1", "null", "-", "1,2",
        "%ff",
    ] {
        let path = format!("/users/{id}/role");
        admin
            .put(&path, &json!({ "role": "author" }))
            .await
            .expect_error(400);
    }
}

async fn unknown_id_is_not_found(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    let (large, negative) = ("9".repeat(30), format!("-{}", "9".repeat(30)));
    for id in [
        "0",
        "-1",
        "-0",
        "999999999",
        "2147483648",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551617",
        &large,
        &negative,
    ] {
        let path = format!("/users/{id}");
        admin.get(&path).await.expect_detail(404, "User not found.");
        let delete = admin.request(Method::DELETE, &path);
        admin
            .send(delete)
            .await
            .expect_detail(404, "User not found.");
        let path = format!("/users/{id}/password");
        for password in ["new", ""] {
            let response = admin.put(&path, &json!({ "password": password })).await;
            response.expect_detail(404, "User not found.");
        }
        let path = format!("/users/{id}/role");
        for role in ["author", "nonsense"] {
            let response = admin.put(&path, &json!({ "role": role })).await;
            response.expect_detail(404, "User not found.");
        }
    }
}
