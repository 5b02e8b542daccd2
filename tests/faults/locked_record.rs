//! Tests a record that is locked, as during maintenance of its table: changes succeed, and operators learn that nothing
//! is sealed.

use e2e::{Api, Process, Program, Store, TestSetup, eventually};
use serde_json::json;

#[tokio::test]
async fn readers_of_a_locked_record_stop_nobody_and_operators_learn_that_nothing_is_sealed() {
    let app = TestSetup::split(Store::Postgres).start().await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    let mut readers = Vec::new();
    for number in 0..8 {
        let user = app.user(&format!("reader {number}")).await;
        readers.push(app.bearer.with_token(&user.token));
    }
    let ann = app.user("ann").await;
    let lock = app.database.lock("audit").await;
    let reading = readers.into_iter().map(|reader| {
        tokio::spawn(async move {
            for _ in 0..3 {
                reader.get("/profile/audit").await;
            }
        })
    });
    let reading: Vec<_> = reading.collect();
    let path = format!("/users/{}/role", ann.id);
    for role in ["author", "user"].into_iter().cycle().take(12) {
        admin.put(&path, &json!({ "role": role })).await.expect(200);
    }
    ann.session(&app.bearer).await;
    ann.key(&app.bearer).await;
    for reader in reading {
        reader.await.expect("no panic");
    }
    // The oldest pending row now seems to have waited for two minutes, with newer ones after it.
    app.database
        .execute(
            "UPDATE audit_pending SET at = at - 120 WHERE id = (SELECT min(id) FROM audit_pending)",
        )
        .await;
    eventually("the age in the metrics", async || {
        let metrics = Api::at(&app.auth().address("ops"))
            .get("/metrics")
            .await
            .body;
        let age = metrics
            .lines()
            .find_map(|line| line.strip_prefix("rolegate_audit_oldest_unsealed_seconds "));
        let age: u64 = age.expect("the metric").parse().expect("a number");
        (age >= 100).then_some(())
    })
    .await;
    let folder = tempfile::tempdir().expect("a folder");
    let settings = TestSetup::split(Store::Postgres).auth_settings(&app.database.url());
    let exit = Process::run(
        Program::AuthService,
        &["doctor"],
        &settings,
        folder.path(),
        "",
    )
    .await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stdout.contains("FAILED record"), "{exit:?}");
    lock.unlock().await;
    eventually("the record", async || {
        let response = admin.get("/audit?event=role_changed").await;
        let page = response.expect(200).json();
        let is_complete = page.get("incomplete").is_none();
        (is_complete && page["entries"].as_array().expect("entries").len() == 12).then_some(())
    })
    .await;
}
