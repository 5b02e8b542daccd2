//! Tests of imports, on both engines.

use super::{super::UserCommand, ImportArguments};
use crate::{
    audit::Requested,
    change::{Change, NewUser},
    commands::database_command::DatabaseCommand,
    principal::Principal,
    settings::ServiceSettings,
    store::{self, FileClock},
    user::User,
};
use clap::Parser;
use postgres_cluster::Database;
use rolegate_proto::Role;
use rolegate_sql_store::{DatabaseUrl, Store as _};
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};
use tempfile::TempDir;

const HASH: &str = "$2b$12$L6Bc/AlTQHyd9liGgGEZyOFLPHNgyxeEPfgYfBCVxJ7JIlwxyVU3u";

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    settings: ServiceSettings,
}

/// A migrated database without users.
struct Target {
    url: DatabaseUrl,
    folder: TempDir,
    _database: Option<Database>,
}

impl Target {
    async fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("users.db"));
        Self::migrated(url, folder, None).await
    }

    async fn postgres() -> Self {
        let database = Database::create().await;
        let url = Some(database.url().as_str().into());
        let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
        Self::migrated(url, tempfile::tempdir().expect("a folder"), Some(database)).await
    }

    async fn migrated(url: DatabaseUrl, folder: TempDir, database: Option<Database>) -> Self {
        store::open(&url).await.expect("opened").close().await;
        Self {
            url,
            folder,
            _database: database,
        }
    }

    /// Imports these lines, and returns the error if the import fails.
    async fn import(&self, lines: &[String], options: &[&str]) -> Result<(), String> {
        let file = self.folder.path().join("users.jsonl");
        std::fs::write(&file, lines.join("\n")).expect("written");
        self.import_file(file, options).await
    }

    async fn import_file(&self, file: PathBuf, options: &[&str]) -> Result<(), String> {
        let has = |option| options.contains(&option);
        let command = UserCommand::Import(ImportArguments {
            file,
            dry_run: has("--dry-run"),
            continue_: has("--continue"),
            skip_existing: has("--skip-existing"),
            reuse_ids: has("--reuse-ids"),
            accept_slow_hashes: has("--accept-slow-hashes"),
            accept_weak_hashes: has("--accept-weak-hashes"),
        });
        let settings = Line::parse_from(["test"]).settings;
        let outcome = DatabaseCommand::User(command)
            .run(&settings, Ok(self.url.clone()))
            .await;
        outcome.map_err(|failure| format!("{failure:?}"))
    }

    /// Returns all users with the fields of an export.
    async fn users(&self) -> Vec<Value> {
        let (store, database) = store::open_beside(&self.url, FileClock::Keep)
            .await
            .expect("opened");
        let mut export = database.export().await.expect("begun");
        let mut users = Vec::new();
        loop {
            let page = export.next_page().await.expect("read");
            if page.is_empty() {
                drop(export);
                store.close().await;
                return users;
            }
            for stored in &page {
                let line = super::super::user_line::UserLine::new(stored);
                users.push(serde_json::to_value(line).expect("JSON"));
            }
        }
    }

    async fn names(&self) -> Vec<String> {
        let users = self.users().await;
        users
            .iter()
            .map(|user| user["username"].as_str().expect("text").to_owned())
            .collect()
    }

    async fn register(&self, username: &str) -> i64 {
        let new = NewUser {
            username: username.into(),
            password_hash: "x".into(),
            role: Role::USER,
            link: None,
        };
        self.change(Change::CreateUser(new)).await.id
    }

    async fn delete(&self, user_id: i64) {
        self.change(Change::DeleteUser { user_id }).await;
    }

    async fn change(&self, change: Change) -> User {
        let store = store::open(&self.url).await.expect("opened");
        let request = Arc::new(Requested::new(Principal::Operator, change));
        let changed = store.change_user(request).await;
        store.close().await;
        changed.expect("changed")
    }
}

fn line(username: &str) -> String {
    json!({ "username": username, "password_hash": HASH }).to_string()
}

fn bad(username: &str) -> String {
    json!({ "username": username, "password_hash": "planted-secret" }).to_string()
}

/// Runs each test on both engines.
macro_rules! on_both_stores {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            #[tokio::test(flavor = "multi_thread")]
            async fn on_sqlite() {
                super::$case(super::Target::sqlite().await).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn on_postgres() {
                super::$case(super::Target::postgres().await).await;
            }
        }
    )+};
}

mod ids;

on_both_stores!(
    one_bad_line_imports_nothing,
    existing_names_are_an_error_unless_they_are_skipped,
    a_dry_run_changes_nothing,
    bad_lines_are_skipped_with_continue,
    an_unreadable_file_is_a_wrong_setting,
    a_user_without_a_password_is_exported_with_null,
    slow_and_weak_hashes_need_their_flags,
);

async fn one_bad_line_imports_nothing(target: Target) {
    for bad in [bad("bob"), line("ann"), "{".to_owned()] {
        let refused = target
            .import(&[line("ann"), bad], &[])
            .await
            .expect_err("a bad line");
        assert!(
            refused.contains("nothing was imported: 1 bad lines"),
            "{refused}"
        );
        assert!(!refused.contains("planted"), "{refused}");
        assert_eq!(target.names().await, [""; 0]);
    }
    let many: Vec<_> = (0..2500)
        .map(|number| line(&format!("user {number}")))
        .collect();
    let late = [many.clone(), vec![line("user 7")]].concat();
    assert!(target.import(&late, &[]).await.is_err());
    assert_eq!(target.names().await.len(), 0);
    target.import(&many, &[]).await.expect("imported");
    assert_eq!(target.names().await.len(), 2500);
}

async fn existing_names_are_an_error_unless_they_are_skipped(target: Target) {
    let first = [line("ann"), line("bob")];
    target.import(&first, &[]).await.expect("imported");
    let before = target.users().await;
    assert!(target.import(&first, &[]).await.is_err(), "they exist");
    target
        .import(&first, &["--skip-existing"])
        .await
        .expect("skipped");
    target
        .import(&first, &["--skip-existing", "--continue"])
        .await
        .expect("skipped");
    assert_eq!(target.users().await, before, "twice changes nothing");
    let third = [line("bob"), line("carl")];
    target
        .import(&third, &["--skip-existing"])
        .await
        .expect("imported");
    assert_eq!(target.names().await, ["ann", "bob", "carl"]);
}

async fn a_dry_run_changes_nothing(target: Target) {
    target
        .import(&[line("ann")], &["--dry-run"])
        .await
        .expect("checked");
    assert!(
        target
            .import(&[line("ann"), bad("bob")], &["--dry-run"])
            .await
            .is_err()
    );
    assert_eq!(target.names().await, [""; 0]);
    assert_eq!(target.register("first").await, 1, "no id is used up");
}

async fn bad_lines_are_skipped_with_continue(target: Target) {
    target.register("user 5").await;
    let lines: Vec<_> = (0..2100)
        .map(|number| {
            if number % 100 == 7 {
                bad("x")
            } else {
                line(&format!("user {number}"))
            }
        })
        .collect();
    let incomplete = target
        .import(&lines, &["--continue"])
        .await
        .expect_err("bad lines");
    assert_eq!(incomplete, "Incomplete(\"22 bad lines were not imported\")");
    assert_eq!(target.names().await.len(), 2100 - 21);
}

async fn a_user_without_a_password_is_exported_with_null(target: Target) {
    let ann = json!({ "id": 7, "username": "ann", "password_hash": null, "role": "author",
        "disabled": false, "tokens_not_before": 5 });
    target
        .import(&[ann.to_string()], &[])
        .await
        .expect("imported");
    assert_eq!(target.users().await, [ann]);
}

async fn slow_and_weak_hashes_need_their_flags(target: Target) {
    let of_cost = |cost: &str| {
        json!({ "username": cost, "password_hash": HASH.replacen("12", cost, 1) }).to_string()
    };
    for (cost, flag) in [
        ("15", "--accept-slow-hashes"),
        ("06", "--accept-weak-hashes"),
    ] {
        for options in [&[][..], &["--dry-run"]] {
            assert!(
                target.import(&[of_cost(cost)], options).await.is_err(),
                "{cost}"
            );
        }
        target
            .import(&[of_cost(cost)], &[flag])
            .await
            .expect("asked for");
    }
    assert_eq!(target.names().await, ["15", "06"]);
}

async fn an_unreadable_file_is_a_wrong_setting(target: Target) {
    let folder = target.folder.path().to_owned();
    for file in [folder.join("missing"), folder] {
        let refused = target.import_file(file, &[]).await.expect_err("unreadable");
        assert!(
            refused.contains("Setting") && refused.contains("cannot be read"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn every_sample_of_a_real_library_is_imported() {
    let target = Target::sqlite().await;
    let samples = include_str!("../../../../test-data/foreign-hashes.jsonl");
    let hashes: Vec<Value> = samples
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["password_hash"].clone())
        .collect();
    let lines: Vec<_> = (0..)
        .zip(&hashes)
        .map(|(number, hash): (i32, _)| {
            json!({ "username": format!("user {number}"), "password_hash": hash }).to_string()
        })
        .collect();
    target
        .import(&lines, &["--accept-weak-hashes"])
        .await
        .expect("imported");
    let store = store::open(&target.url).await.expect("opened");
    let found = store
        .credentials_by_username(&["user 3".to_owned()], &[])
        .await
        .expect("read");
    assert_eq!(
        json!(found.value[0].password_hash.expose_secret()),
        hashes[3]
    );
}
