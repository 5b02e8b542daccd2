//! Tests of the ids of imported users.

use super::{HASH, Target, line};
use serde_json::{Value, json};

on_both_stores!(
    ids_are_kept_and_later_ones_are_greater,
    assigned_ids_are_greater_than_those_of_later_lines,
    a_taken_id_is_an_error,
    an_id_of_two_lines_is_an_error_before_anything_is_inserted,
    an_id_of_a_deleted_user_is_refused_unless_it_is_asked_for,
    ids_in_any_order_are_imported_into_an_empty_store,
    an_interrupted_import_by_ascending_ids_is_completed,
);

async fn ids_are_kept_and_later_ones_are_greater(target: Target) {
    let with = |name: &str, id: i64| {
        json!({ "username": name, "password_hash": HASH, "id": id, "role": "author",
            "disabled": id == 9, "tokens_not_before": 5 })
        .to_string()
    };
    target
        .import(&[with("nine", 9), line("none"), with("three", 3)], &[])
        .await
        .expect("imported");
    let users = target.users().await;
    let id = |name: &str| {
        users
            .iter()
            .find(|user| user["username"] == name)
            .expect("there")["id"]
            .clone()
    };
    assert_eq!([id("nine"), id("three")], [json!(9), json!(3)]);
    assert!(id("none").as_i64() > Some(9), "{users:?}");
    assert!(Some(target.register("later").await) > id("none").as_i64());

    // An export that is imported into the other engine results in the same users.
    let other = if matches!(
        target.url.target,
        rolegate_sql_store::DatabaseTarget::Sqlite(_)
    ) {
        Target::postgres().await
    } else {
        Target::sqlite().await
    };
    let mut users = target.users().await;
    users.retain(|user| user["username"] != "later");
    let lines: Vec<_> = users.iter().map(Value::to_string).collect();
    other.import(&lines, &[]).await.expect("imported");
    assert_eq!(other.users().await, users);
}

async fn assigned_ids_are_greater_than_those_of_later_lines(target: Target) {
    for name in ["ann", "bob"] {
        let id = target.register(name).await;
        target.delete(id).await;
    }
    let with = |name: &str, id: i64| {
        json!({ "username": name, "password_hash": HASH, "id": id }).to_string()
    };
    let lines = [
        line("first"),
        with("three", 3),
        line("second"),
        with("one", 1),
    ];
    target
        .import(&lines, &["--reuse-ids"])
        .await
        .expect("imported");
    assert_eq!(target.names().await, ["one", "three", "first", "second"]);
    let ids: Vec<_> = target
        .users()
        .await
        .iter()
        .map(|user| user["id"].clone())
        .collect();
    assert_eq!(ids, [1, 3, 4, 5]);
    assert_eq!(target.register("later").await, 6);
}

async fn a_taken_id_is_an_error(target: Target) {
    let id = target.register("ann").await;
    let bob = json!({ "username": "bob", "password_hash": HASH, "id": id }).to_string();
    for options in [&[][..], &["--skip-existing"]] {
        assert!(
            target
                .import(std::slice::from_ref(&bob), options)
                .await
                .is_err()
        );
    }
    assert!(
        target
            .import(&[bob, line("carl")], &["--continue"])
            .await
            .is_err()
    );
    assert_eq!(target.names().await, ["ann", "carl"]);
}

async fn an_id_of_two_lines_is_an_error_before_anything_is_inserted(target: Target) {
    let with = |name: &str| json!({ "username": name, "password_hash": HASH, "id": 7 }).to_string();
    let lines = [with("ann"), with("bob")];
    for options in [&[][..], &["--dry-run"]] {
        let refused = target.import(&lines, options).await.expect_err("one id");
        assert!(
            refused.contains("nothing was imported: 1 bad lines"),
            "{refused}"
        );
    }
    assert_eq!(target.names().await, [""; 0]);
    assert!(target.import(&lines, &["--continue"]).await.is_err());
    assert_eq!(target.names().await, ["ann"]);
}

async fn an_id_of_a_deleted_user_is_refused_unless_it_is_asked_for(target: Target) {
    for name in ["ann", "bob"] {
        let id = target.register(name).await;
        target.delete(id).await;
    }
    let with = |name: &str, id: i64| {
        json!({ "username": name, "password_hash": HASH, "id": id }).to_string()
    };
    for id in [1, 2] {
        let file = [with("carl", id), with("dora", 3)];
        assert!(target.import(&file, &[]).await.is_err(), "{id}");
        assert!(target.import(&file, &["--dry-run"]).await.is_err(), "{id}");
    }
    assert_eq!(target.names().await, [""; 0]);
    assert!(
        target
            .import(&[with("carl", 1), with("dora", 3)], &["--continue"])
            .await
            .is_err()
    );
    assert_eq!(target.names().await, ["dora"]);
    target
        .import(&[with("carl", 1)], &["--reuse-ids"])
        .await
        .expect("asked for");
    target
        .import(&[with("dora", 3), with("eve", 4)], &["--skip-existing"])
        .await
        .expect("imported");
    assert_eq!(target.names().await, ["carl", "dora", "eve"]);
}

async fn ids_in_any_order_are_imported_into_an_empty_store(target: Target) {
    let with = |id: i64| {
        json!({ "username": format!("user {id}"), "password_hash": HASH, "id": id }).to_string()
    };
    let lines: Vec<_> = (1..=2500).rev().map(with).collect();
    target
        .import(&lines, &["--dry-run"])
        .await
        .expect("checked");
    target
        .import(&lines[..2400], &["--continue"])
        .await
        .expect("imported");
    target
        .import(&lines[..2400], &["--continue", "--skip-existing"])
        .await
        .expect("skipped");
    assert_eq!(target.names().await.len(), 2400);
    let refused = target
        .import(&lines, &["--skip-existing"])
        .await
        .expect_err("lower ids");
    assert!(refused.contains("100 bad lines"), "{refused}");
    target
        .import(&lines, &["--skip-existing", "--reuse-ids"])
        .await
        .expect("asked for");
    assert_eq!(target.names().await.len(), 2500);
}

async fn an_interrupted_import_by_ascending_ids_is_completed(target: Target) {
    let with = |id: i64| {
        json!({ "username": format!("user {id}"), "password_hash": HASH, "id": id }).to_string()
    };
    let lines: Vec<_> = (1..=3500).map(with).collect();
    target
        .import(&lines[..2000], &["--continue"])
        .await
        .expect("its first batches");
    target
        .import(&lines, &["--continue", "--skip-existing"])
        .await
        .expect("the rest");
    assert_eq!(target.names().await.len(), 3500);
}
