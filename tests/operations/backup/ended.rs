//! Checks which credentials a restore ends: all those that may have been revoked since the backup was made.

use super::{Own, add_author};
use e2e::{Api, TestUser, proof};
use serde_json::{Value, json};

impl Own {
    /// Stops the program, restores the backup `a.db`, and starts the program again. Returns what the command printed.
    async fn restored(&self, process: e2e::Process) -> (String, e2e::Process, Api) {
        process.terminate();
        assert_eq!(process.exit().await.code, Some(0));
        let exit = self.run(&["restore", "a.db", "--replace"]).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        let (process, bearer) = self.start().await;
        (exit.stdout, process, bearer)
    }

    async fn admin(&self, bearer: &Api) -> TestUser {
        TestUser::log_in(bearer, "admin", &self.admin_password()).await
    }
}

#[tokio::test]
async fn a_user_whom_the_backup_does_not_have_is_nobody_afterwards_and_no_id_comes_again() {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    let ann = add_author(&own, &bearer, "ann").await;
    let key = ann.key(&bearer).await;
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    let mallory = add_author(&own, &bearer, "mallory").await;
    let session = mallory.session(&bearer).await;
    let last_post = last_post_id(&bearer).await;
    let (said, _process, bearer) = own.restored(process).await;
    assert!(said.contains("1 API key stays valid"), "{said}");
    bearer
        .with_token(&mallory.token)
        .get("/me")
        .await
        .expect_detail(401, "User not found.");
    let boss = TestUser::register(&bearer, "boss").await;
    assert!(boss.id > mallory.id + 100_000, "{boss:?}");
    for (token, detail) in [
        (&mallory.token, "User not found."),
        (&session.token, "Invalid or expired token."),
    ] {
        bearer
            .with_token(token)
            .get("/me")
            .await
            .expect_detail(401, detail);
    }
    bearer.with_token(&key.token).get("/me").await.expect(200);
    let author = add_author(&own, &bearer, "carl").await;
    assert!(last_post_id(&bearer).await > last_post + 100_000);
    let of_carl = author.key(&bearer).await;
    assert!(of_carl.id > session.id + 100_000, "{of_carl:?}");
}

/// Returns the id of the newest post.
async fn last_post_id(bearer: &Api) -> i64 {
    let posts = bearer.get("/posts").await.expect(200).json();
    let newest = posts["posts"].as_array().expect("a list").last();
    newest.expect("a post")["id"].as_i64().expect("an id")
}

#[tokio::test]
async fn sessions_links_and_tokens_of_the_backup_have_ended_and_its_keys_have_not() {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    let ann = add_author(&own, &bearer, "ann").await;
    let admin = own.admin(&bearer).await;
    let logged_out = ann.session(&bearer).await;
    let kept = ann.session(&bearer).await;
    let key = ann.key(&bearer).await;
    let new = json!({ "username": "new", "role": "user" });
    let as_admin = bearer.with_token(&admin.token);
    let new = as_admin.post("/users", &new).await.expect(201).json();
    let path = format!("/users/{}/password-link", new["id"]);
    let made = as_admin.post(&path, &json!({})).await.expect(201).json();
    let url = made["url"].as_str().expect("a URL");
    let link = url.split('#').nth(1).expect("a token").to_owned();
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    bearer.with_token(&logged_out.token).log_out().await;
    let (said, _process, bearer) = own.restored(process).await;
    let expected = "Revoked all access tokens. Ended 2 sessions, 1 password link and 0 unfinished second-factor enrollments. \
                    1 API key stays valid; user end-all --keys deletes it.\n";
    assert!(said.ends_with(expected), "{said}");
    let ended = [&logged_out.token, &kept.token, &ann.token, &admin.token];
    for token in ended {
        bearer
            .with_token(token)
            .get("/me")
            .await
            .expect_detail(401, "Invalid or expired token.");
    }
    proof(
        "restore",
        &[("tokens and sessions from before", ended.len())],
        &[("still good", 0)],
    );
    bearer.with_token(&key.token).get("/me").await.expect(200);
    let password = json!({ "token": link, "password": "a new password" });
    bearer
        .put("/password", &password)
        .await
        .expect_detail(400, "Invalid or expired link.");
    let admin = own.admin(&bearer).await;
    let as_admin = bearer.with_token(&admin.token);
    let found = as_admin
        .get("/audit?event=restored")
        .await
        .expect(200)
        .json();
    let row = &found["entries"][0];
    assert_eq!(row["details"]["sessions"], 2, "{found}");
    assert_eq!(row["user_id"], Value::Null);
    let before = row["details"]["after_revision"]
        .as_i64()
        .expect("a revision");
    let revision = row["revision"].as_i64().expect("a revision");
    assert!(revision > before + 1_000_000, "{row}");
    let verify = own.run(&["audit", "verify"]).await;
    assert_eq!(verify.code, Some(0), "{verify:?}");
}

#[tokio::test]
async fn tokens_by_a_clock_that_was_ahead_have_ended_too() {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    process.terminate();
    process.exit().await;
    // Sets the clock of the file twenty minutes ahead.
    let file = own.path().join("data/rolegate.db");
    super::run_sql(&file, "UPDATE clock SET zero = zero + 1200000").await;
    let (process, bearer_ahead) = own.start().await;
    drop(bearer);
    let admin = own.admin(&bearer_ahead).await;
    let (_, process, bearer) = own.restored(process).await;
    own.admin(&bearer).await;
    process.terminate();
    process.exit().await;
    // If the restore ignored the clock of the replaced file, the token would become valid again once the restored clock
    // reached that time.
    super::run_sql(&file, "UPDATE clock SET zero = zero + 1200000").await;
    let (_process, bearer) = own.start().await;
    bearer
        .with_token(&admin.token)
        .get("/me")
        .await
        .expect_detail(401, "Invalid or expired token.");
}

/// Restores several times, as an operator does who looks for the right one of several backups.
#[tokio::test]
async fn restores_one_after_the_other_do_not_move_the_clock() {
    let own = Own::new();
    let (mut process, bearer) = own.start().await;
    own.admin(&bearer).await;
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    for _ in 0..3 {
        let (_, restored, bearer) = own.restored(process).await;
        process = restored;
        own.admin(&bearer).await;
    }
    let doctor = own.run(&["doctor"]).await;
    let agrees = "agrees with the clock of the database";
    assert!(doctor.stdout.contains(agrees), "{doctor:?}");
}
