//! `PASSWORD_PEPPER`: hashes that need a secret outside the database.

use e2e::{StoredUser, TestApp, TestSetup, eventually, for_split_deployments};

for_split_deployments!(
    pepper_comes_into_hashes_at_the_next_login_and_can_be_rotated,
    hash_whose_pepper_is_missing_is_a_fault_of_the_service,
);

const PASSWORD: &str = "open sesame";
const OLD: &str = "an old pepper of more than 32 bytes";
const NEW: &str = "a newer pepper of more than 32 bytes";

async fn stored(app: &TestApp, username: &str) -> StoredUser {
    app.database.user(username).await.expect("stored")
}

/// Logs in, and waits for a stored hash other than this one.
async fn rehash(app: &TestApp, username: &str, before: &str) -> String {
    app.try_log_in(username, PASSWORD).await.expect(200);
    eventually("a new hash", async || {
        let hash = stored(app, username).await.password;
        (hash != before).then_some(hash)
    })
    .await
}

/// The scheme and the id of the pepper.
fn pepper(hash: &str) -> &str {
    hash.split_once("$2b$").expect("a hash of bcrypt").0
}

async fn pepper_comes_into_hashes_at_the_next_login_and_can_be_rotated(setup: TestSetup) {
    let mut app = setup.start().await;
    app.try_register("ann", PASSWORD).await.expect(200);
    let plain = stored(&app, "ann").await.password;
    assert_eq!(pepper(&plain), "", "without the setting a hash is plain bcrypt");

    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", OLD))).await;
    app.try_log_in("ann", "wrong").await.expect(401);
    let with_old = rehash(&app, "ann", &plain).await;
    assert!(pepper(&with_old).starts_with("hmac-sha256:"), "{with_old}");
    app.try_register("bob", PASSWORD).await.expect(200);
    assert_eq!(pepper(&stored(&app, "bob").await.password), pepper(&with_old));
    app.basic.with_basic("bob", PASSWORD).get("/protected").await.expect(200);

    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", &format!("{NEW}\n{OLD}")))).await;
    app.try_log_in("ann", "wrong").await.expect(401);
    let with_new = rehash(&app, "ann", &with_old).await;
    assert_ne!(pepper(&with_new), pepper(&with_old));
    // Basic never rehashes, and accepts both.
    app.basic.with_basic("ann", PASSWORD).get("/protected").await.expect(200);
    app.basic.with_basic("bob", PASSWORD).get("/protected").await.expect(200);
    app.basic.with_basic("bob", "wrong").get("/protected").await.expect(401);
}

async fn hash_whose_pepper_is_missing_is_a_fault_of_the_service(setup: TestSetup) {
    let mut app = setup.with("PASSWORD_PEPPER", OLD).start().await;
    app.try_register("ann", PASSWORD).await.expect(200);
    app.kill_auth().await;
    app.start_auth(Some(("PASSWORD_PEPPER", NEW))).await;
    for password in [PASSWORD, "wrong"] {
        let response = app.try_log_in("ann", password).await;
        response.expect_detail(500, "Internal server error.");
    }
    app.auth().logs("the cause", |line| line.contains("PASSWORD_PEPPER")).await;
    assert!(!app.auth().stderr().contains(NEW), "the log shows a pepper");
}
