//! Tests an SQLite database on a full disk: writes fail, reads succeed, and writes succeed once there is space.

use e2e::{ADMIN_PASSWORD, Api, Process, SmallDisk, Store, TestSetup, TestUser, eventually};
use serde_json::json;

const CAUSE: &str = "database or disk is full";

async fn register(api: &Api, name: &str) -> e2e::TestResponse {
    api.post(
        "/register",
        &json!({ "username": name, "password": "open sesame" }),
    )
    .await
}

#[tokio::test]
async fn writes_fail_while_the_disk_is_full_and_succeed_afterwards() {
    if !SmallDisk::is_supported().await {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let setup = TestSetup::all_in_one(Store::Sqlite);
    let settings = setup.auth_settings("sqlite://users.db");
    let (process, disk) =
        Process::start_on_small_disk(setup.auth_program(), &settings, folder.path());
    let process = process.ready().await;
    let (api, ops) = (
        Api::at(&process.address("bearer")),
        Api::at(&process.address("ops")),
    );
    let admin = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await;
    let admin_api = api.with_token(&admin.token);
    let post = json!({ "title": "Title", "content": "Content." });
    admin_api.post("/posts", &post).await.expect(201);
    process.wait_for_readiness(200).await;
    assert_eq!(ops.get("/readyz").await.body, "ready\n");

    disk.fill();
    for name in ["ann", "bob", "ann"] {
        let refused = register(&api, name).await;
        refused
            .expect_detail(503, "Service is temporarily read-only.")
            .expect_retry_after();
        admin_api
            .post("/posts", &post)
            .await
            .expect(503)
            .expect_retry_after();
        admin_api.get("/admin").await.expect(200);
        api.get("/posts").await.expect(200);
    }
    let admin_again = TestUser::log_in(&api, "admin", ADMIN_PASSWORD).await;
    assert_eq!(admin_again.id, admin.id);
    eventually("a readiness that names the problem", async || {
        let response = ops.get("/readyz").await;
        let body = &response.expect(200).body;
        let named = ["users.db: ", "posts.db: "];
        let is_named = named.iter().all(|store| body.contains(store));
        (body.starts_with("ready\n") && body.contains(CAUSE) && is_named).then_some(())
    })
    .await;
    assert_eq!(writable(&ops).await, [0, 0]);
    for file in ["users.db", "posts.db"] {
        let log = process.stderr();
        let lines = log
            .lines()
            .filter(|line| line.contains(CAUSE) && line.contains(file));
        assert_eq!(lines.count(), 1, "{file} in\n{log}");
    }

    for number in 0..50 {
        register(&api, &format!("user{number}")).await.expect(503);
    }
    let count = "failed=\"/register 503 STORE_READ_ONLY ";
    process
        .logs("the refused writes, counted", |line| line.contains(count))
        .await;
    let log = process.stderr();
    let lines = log
        .lines()
        .filter(|line| line.contains("request failed"))
        .count();
    assert!(lines < 20, "a line for the first of a series: {log}");

    disk.free();
    // The first write after the full disk must not leave the connection in a state in which later writes fail.
    eventually("the store to take writes again", async || {
        (writable(&ops).await == [1, 1]).then_some(())
    })
    .await;
    for name in ["ann", "bob", "carl"] {
        register(&api, name).await.expect(200);
        admin_api.post("/posts", &post).await.expect(201);
    }
    eventually("an ordinary readiness", async || {
        (ops.get("/readyz").await.expect(200).body == "ready\n").then_some(())
    })
    .await;
    assert_eq!(
        api.get("/posts").await.json()["posts"]
            .as_array()
            .map(Vec::len),
        Some(4)
    );
}

/// Returns whether the stores of users and posts take writes, according to the metric.
async fn writable(ops: &Api) -> [u8; 2] {
    let metrics = ops.get("/metrics").await.expect(200).body.clone();
    ["users", "posts"].map(|store| {
        let series = format!("rolegate_store_writable{{store=\"{store}\"}} ");
        let value = metrics.lines().find_map(|line| line.strip_prefix(&series));
        value
            .and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("{series}: {metrics}"))
    })
}
