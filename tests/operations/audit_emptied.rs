//! Checks that `auth-service audit verify` tells a record whose rows were all removed from a new record.

use crate::{
    audit_commands::{audit, verified},
    stored_record::{StoredRecord, Tables},
};
use e2e::{Exit, Process, Program, Store, TestDatabase, TestSetup, for_both_stores};
use serde_json::json;

for_both_stores!(
    a_record_that_was_emptied_is_named,
    a_record_that_is_new_is_no_emptied_one,
);

fn expect_emptied(exit: &Exit, problem: &str) {
    assert_eq!(exit.code, Some(1), "{exit:?}");
    assert!(exit.stdout.contains(problem), "{problem}: {exit:?}");
    assert!(
        exit.stderr.starts_with("the record was tampered with: "),
        "{exit:?}"
    );
    assert_eq!(exit.stderr.lines().count(), 1, "{exit:?}");
}

async fn a_record_that_was_emptied_is_named(store: Store) {
    let app = TestSetup::all_in_one(store).start().await;
    app.user("ann").await;
    let (mut processes, database) = app.into_processes();
    for process in &mut processes {
        process.kill().await;
    }
    let held = verified(&database, None).await;
    let (revision, _) = held.split_once(':').expect("a seal");
    let mut tables = Tables::of(&database).await;
    let record = tables.read().await;
    let is_nothing = |record: &StoredRecord| record.rows.is_empty() || record.seals.is_empty();
    assert!(!is_nothing(&record), "{record:?}");
    let first_seal = json!({ "revision": 0, "at": 0, "digest": "" });
    let first_seal = first_seal.as_object().expect("an object").clone();
    let rows = record.rows.len();
    for (rows, seals, problem) in [
        (
            vec![],
            vec![],
            "the record was emptied: it has neither rows nor seals, ".to_owned(),
        ),
        (
            record.rows.clone(),
            vec![],
            format!("all seals are missing: nothing shows whether the {rows} rows were changed\n"),
        ),
        (
            vec![],
            record.seals.clone(),
            format!(
                "the record was emptied: it has no rows, although its seals reach to revision {revision}\n"
            ),
        ),
        (
            vec![],
            record.seals[record.seals.len() - 1..].to_vec(),
            format!(
                "the record was emptied: it has no rows, although its seals reach to revision {revision}\n"
            ),
        ),
        (
            vec![],
            vec![first_seal],
            "the record was emptied: it has no rows, although there are 2 users, ".to_owned(),
        ),
    ] {
        tables.write(&StoredRecord { rows, seals }).await;
        for arguments in [&["verify"][..], &["verify", "--seal", &held]] {
            expect_emptied(&audit(&database, arguments).await, &problem);
        }
    }
    tables.write(&record).await;
    assert_eq!(verified(&database, Some(&held)).await, held);
}

async fn a_record_that_is_new_is_no_emptied_one(store: Store) {
    let database = TestDatabase::create(store).await;
    let settings = TestSetup::split(store).auth_settings(&database.url());
    let folder = tempfile::tempdir().expect("a folder");
    let program = Program::FastHashAuthService;
    let migrated = Process::run(program, &["migrate"], &settings, folder.path(), "").await;
    assert_eq!(migrated.code, Some(0), "{migrated:?}");
    let exit = audit(&database, &["verify"]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert_eq!(exit.stdout, "0 rows, sealed by 0:\n");
    assert_eq!(exit.stderr, "the record is new: nothing was recorded yet\n");
}
