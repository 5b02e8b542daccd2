//! Tests `PASSWORD_BLOCKLIST_FILE`, the list of passwords that users may not choose.

use e2e::{
    Process, Program, TestApp, TestSetup, TestUser, eventually, for_all_deployments,
    for_two_deployments,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};
use tempfile::TempDir;

for_all_deployments!(common_password_is_refused_wherever_one_is_set);
for_two_deployments!(list_is_read_again_on_sighup_and_never_asked_at_login);

const REFUSED: &str = "Password is too common.";
/// The list has the password "letmein", and the SHA-1 digest of "password".
const LIST: &str = "letmein\r\n5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9545824\n";

fn list(text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("blocklist");
    fs::write(&file, text).expect("written");
    (folder, file)
}

async fn common_password_is_refused_wherever_one_is_set(setup: TestSetup) {
    let (_folder, file) = list(LIST);
    let app = setup
        .with_file("PASSWORD_BLOCKLIST_FILE", &file)
        .start()
        .await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let (admin, ann_asks) = (
        app.bearer.with_token(&admin.token),
        app.bearer.with_token(&ann.token),
    );
    for common in ["letmein", "password"] {
        app.try_register("bob", common)
            .await
            .expect_detail(400, REFUSED);
        let body = json!({ "username": "bob", "password": common, "role": "user" });
        app.basic
            .post("/register", &body)
            .await
            .expect_detail(400, REFUSED);
        admin
            .post("/users", &body)
            .await
            .expect_detail(400, REFUSED);
        let path = format!("/users/{}/password", ann.id);
        admin
            .put(&path, &json!({ "password": common }))
            .await
            .expect_detail(400, REFUSED);
        let change = json!({ "current_password": ann.password, "new_password": common });
        ann_asks
            .put("/profile/password", &change)
            .await
            .expect_detail(400, REFUSED);
        run_user_command(&app, &file, common).await;
    }
    assert_eq!(app.database.count_users().await, 2);
    ann_asks.get("/profile").await.expect(200);
    app.try_register("bob", "letmein ").await.expect(200);
}

/// Runs `user create` with this password, and expects that it is refused and not shown.
async fn run_user_command(app: &TestApp, file: &Path, common: &str) {
    let settings = BTreeMap::from([
        ("DATABASE_URL".to_owned(), app.database.url()),
        (
            "PASSWORD_BLOCKLIST_FILE".to_owned(),
            file.display().to_string(),
        ),
    ]);
    let folder = tempfile::tempdir().expect("a folder");
    let (program, arguments) = (Program::FastHashAuthService, ["user", "create", "bob"]);
    let exit = Process::run(program, &arguments, &settings, folder.path(), common).await;
    assert_eq!(
        (exit.code, exit.stdout.as_str()),
        (Some(64), ""),
        "{exit:?}"
    );
    assert!(
        exit.stderr.contains(REFUSED) && !exit.stderr.contains("letmein"),
        "{exit:?}"
    );
}

async fn list_is_read_again_on_sighup_and_never_asked_at_login(setup: TestSetup) {
    let (_folder, file) = list("zzz\n");
    let app = setup
        .with_file("PASSWORD_BLOCKLIST_FILE", &file)
        .start()
        .await;
    app.try_register("ann", "letmein").await.expect(200);
    fs::write(&file, LIST).expect("written");
    app.auth().reload();
    let attempts = AtomicU32::new(0);
    eventually("the new list", async || {
        // Each attempt has a new name, because the registration succeeds until the new list is read.
        let name = format!("user {}", attempts.fetch_add(1, Ordering::Relaxed));
        let response = app.try_register(&name, "letmein").await;
        (response.status == 400).then(|| response.expect_detail(400, REFUSED).status)
    })
    .await;
    app.try_register("bob", "zzz").await.expect(200);
    TestUser::log_in(&app.bearer, "ann", "letmein").await;
    app.basic
        .with_basic("ann", "letmein")
        .get("/protected")
        .await
        .expect(200);

    fs::write(&file, "").expect("written");
    app.auth().reload();
    let is_error = |line: &str| line.contains("keeping the old one") && line.contains("passwords");
    app.auth().logs("the error", is_error).await;
    app.try_register("cleo", "letmein")
        .await
        .expect_detail(400, REFUSED);
}
