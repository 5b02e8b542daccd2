//! Checks that `user end-all` ends every session and token of a running deployment, on all replicas.

use crate::{
    audit_commands::{audit, export, verified},
    audit_retention::watch,
    user_commands::user,
};
use e2e::{Api, Exit, TestApp, TestSetup, for_two_deployments, proof};

for_two_deployments!(
    everything_but_passwords_and_keys_ends_on_every_replica_at_once,
    keys_end_too_if_the_operator_asks_for_it,
    a_watcher_continues_after_the_gap_but_not_from_a_revision_inside_it,
);

async fn end_all(app: &TestApp, more: &[&str]) -> Exit {
    let exit = user(app, &[&["end-all"], more].concat(), "", &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert!(exit.stderr.contains("all_ended"), "{exit:?}");
    exit
}

/// Starts a second process on the same database, and returns it with the APIs of both.
async fn replicas(app: &mut TestApp) -> (e2e::Process, [Api; 2]) {
    let first = app.bearer.clone();
    let old = app.start_second_gateway().await;
    (old, [first, app.bearer.clone()])
}

async fn everything_but_passwords_and_keys_ends_on_every_replica_at_once(setup: TestSetup) {
    let mut app = setup.start().await;
    let (_first, replicas) = replicas(&mut app).await;
    let ann = app.user("ann").await;
    let session = ann.session(&app.bearer).await;
    let key = ann.key(&app.bearer).await;
    let basic = app.basic.with_basic("ann", &ann.password);
    basic.get("/protected").await.expect(200);
    for replica in &replicas {
        for token in [&ann.token, &session.token, &key.token] {
            replica.with_token(token).get("/me").await.expect(200);
        }
    }
    let exit = end_all(&app, &["--yes"]).await;
    assert!(exit.stdout.contains("Ended 1 session,"), "{exit:?}");
    assert!(exit.stdout.contains("1 API key stays valid"), "{exit:?}");
    let ended = [&ann.token, &session.token];
    for replica in &replicas {
        for token in ended {
            replica
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
        replica.with_token(&key.token).get("/me").await.expect(200);
    }
    basic.get("/protected").await.expect(200);
    for replica in &replicas {
        let again = e2e::TestUser::log_in(replica, "ann", &ann.password).await;
        replica
            .with_token(&again.token)
            .get("/me")
            .await
            .expect(200);
    }
    let listed = audit(&app.database, &["list", "--event", "all_ended"]).await;
    assert!(listed.stdout.contains(r#""sessions":1"#), "{listed:?}");
    verified(&app.database, None).await;
    let bob = app.user("bob").await;
    assert!(bob.id > ann.id + 100_000, "{bob:?}");
    app.kill_auth().await;
    app.start_auth(None).await;
    app.bearer
        .with_token(&session.token)
        .get("/me")
        .await
        .expect(401);
}

async fn keys_end_too_if_the_operator_asks_for_it(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let key = ann.key(&app.bearer).await;
    let exit = end_all(&app, &["--keys"]).await;
    assert!(exit.stdout.contains("Deleted 1 API key."), "{exit:?}");
    app.bearer
        .with_token(&key.token)
        .get("/me")
        .await
        .expect_detail(401, "Invalid or expired token.");
    let odd = user(&app, &["end-all", "ann"], "", &[]).await;
    assert_eq!(odd.code, Some(64), "it is about everybody: {odd:?}");
}

async fn a_watcher_continues_after_the_gap_but_not_from_a_revision_inside_it(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    let seal = verified(&app.database, None).await;
    end_all(&app, &[]).await;
    // Sign-ins get their revision a moment later, so only the row of `all_ended` tells the last revision before the
    // gap.
    let rows = export(&app.database).await;
    let end = rows.iter().find(|row| row["event"] == "all_ended");
    let last = end.expect("a row")["details"]["after_revision"]
        .as_i64()
        .expect("a revision");
    app.user("bob").await;
    for revision in [last + 1, last + 1_000_000] {
        watch(&app, Some(revision))
            .await
            .expect_err("it was never given out");
    }
    let mut changes = watch(&app, Some(last)).await.expect("it is known");
    let item = changes.message().await.expect("no error").expect("an item");
    let text = format!("{item:?}");
    assert!(text.contains("bob"), "{text}");
    let held = audit(&app.database, &["verify", "--seal", &seal]).await;
    assert_eq!(held.code, Some(0), "the record goes on: {held:?}");
}
