//! Checks that `auth-service audit verify` finds changes that were made to the tables by hand, most of them at random.

mod changes;

use crate::{
    audit_commands::{audit, verified},
    stored_record::{StoredRecord, Tables, erase, number, text},
};
use changes::{Dice, has_erased, tamper, tamper_and_seal};
use e2e::{Exit, Process, Program, Store, TestDatabase, TestSetup, for_both_stores, proof};
use reqwest::Method;
use serde_json::json;
use std::{collections::BTreeMap, env};

for_both_stores!(
    any_change_of_the_tables_is_found,
    a_chain_that_was_computed_anew_is_found_with_a_held_seal,
    an_erasure_by_hand_is_found,
    rows_of_today_that_are_missing_at_the_beginning_are_found,
    a_removal_that_the_seals_contradict_is_found,
);

/// The number of random changes to test if `AUDIT_CHANGES` is not set, each alone and with one run of the command.
/// `tests/run --prove` sets it to 300.
const DEFAULT_CHANGES: usize = 60;
/// The number of random changes for which one more is tested with seals computed anew, which takes two runs of the
/// command.
const CHANGES_PER_CHAIN: usize = 6;
const IMPORTS: usize = 10;

/// Creates a record of about 300 rows in about 20 batches, and returns it with its last seal. The service has ended, so
/// the record no longer changes.
async fn recorded(store: Store, has_erasure: bool) -> (TestDatabase, Tables, StoredRecord, String) {
    let app = TestSetup::all_in_one(store).start().await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    for number in 0..6 {
        let name = format!("user {number}");
        let user = app.user(&name).await;
        user.session(&app.bearer).await;
        user.key(&app.bearer).await;
        app.try_log_in(&name, "wrong").await.expect(401);
        app.try_log_in("stranger", "wrong").await.expect(401);
        let path = format!("/users/{}", user.id);
        admin
            .put(&format!("{path}/role"), &json!({ "role": "author" }))
            .await
            .expect(200);
        let disabled = admin
            .request(Method::PATCH, &path)
            .json(&json!({ "disabled": true, "username": format!("renamed {number}") }));
        admin.send(disabled).await.expect(200);
        if number < 3 {
            admin
                .send(admin.request(Method::DELETE, &path))
                .await
                .expect(200);
        }
        admin.get("/audit").await.expect(200);
    }
    e2e::eventually("the refusals", async || {
        let refused = admin
            .get("/audit?event=login_failed")
            .await
            .expect(200)
            .json();
        // Failed logins of unknown names are recorded only once a minute, so not every failure has a row.
        (refused["entries"].as_array().expect("entries").len() > 6).then_some(())
    })
    .await;
    let (mut processes, database) = app.into_processes();
    for process in &mut processes {
        process.kill().await;
    }
    for import in 0..IMPORTS {
        let name = |number| format!("imported {import} {number}");
        let line = |number| json!({ "username": name(number), "password_hash": null }).to_string();
        let lines: Vec<_> = (0..24).map(line).collect();
        user(&database, &["import", "-"], &lines.join("\n")).await;
        verified(&database, None).await;
    }
    if has_erasure {
        user(&database, &["erase-audit", "renamed 0"], "").await;
    }
    let held = verified(&database, None).await;
    let mut tables = Tables::of(&database).await;
    let record = tables.read().await;
    assert!(
        record.rows.len() > 290 && record.seals.len() > IMPORTS,
        "{record:?}"
    );
    let mut again = record.clone();
    again.seal();
    assert_eq!(again, record, "the test seals as the program does");
    (database, tables, record, held)
}

fn wanted_changes() -> usize {
    env::var("AUDIT_CHANGES").map_or(DEFAULT_CHANGES, |text| {
        text.parse().expect("AUDIT_CHANGES is a number")
    })
}

async fn user(database: &TestDatabase, arguments: &[&str], input: &str) {
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [&["user"], arguments].concat();
    let program = Program::FastHashAuthService;
    let exit = Process::run(program, &arguments, &settings, folder.path(), input).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
}

fn expect_found(exit: &Exit, what: &str) {
    assert_eq!(exit.code, Some(1), "{what}: {exit:?}");
    assert!(
        exit.stderr.contains("the record was tampered with: "),
        "{what}: {exit:?}"
    );
    assert!(
        exit.stdout.lines().count() > 1,
        "nothing is named; {what}: {exit:?}"
    );
    let missed = usize::from(exit.code == Some(0));
    proof(
        "record",
        &[("changes by hand", 1)],
        &[("found", 1 - missed), ("missed", missed)],
    );
}

async fn any_change_of_the_tables_is_found(store: Store) {
    let (database, mut tables, record, held) = recorded(store, true).await;
    let mut dice = Dice::from_environment();
    for _ in 0..wanted_changes() {
        let mut tampered = record.clone();
        let what = tamper(&mut tampered, &mut dice);
        assert_ne!(tampered, record, "{what}");
        tables.write(&tampered).await;
        expect_found(&audit(&database, &["verify"]).await, &what);
    }
    tables.write(&record).await;
    assert_eq!(verified(&database, Some(&held)).await, held);
}

async fn a_chain_that_was_computed_anew_is_found_with_a_held_seal(store: Store) {
    let (database, mut tables, record, held) = recorded(store, false).await;
    let mut dice = Dice::from_environment();
    for _ in 0..wanted_changes().div_ceil(CHANGES_PER_CHAIN) {
        let mut tampered = record.clone();
        let what = tamper_and_seal(&mut tampered, &mut dice);
        assert_ne!(tampered, record, "{what}");
        tables.write(&tampered).await;
        let other = verified(&database, None).await;
        assert_ne!(other, held, "{what}");
        expect_found(&audit(&database, &["verify", "--seal", &held]).await, &what);
    }
}

/// Returns the record without the rows up to the seal with this index, as retention would leave it.
fn without_oldest(record: &StoredRecord, seal: usize) -> StoredRecord {
    let mut shortened = record.clone();
    shortened.seals.drain(..seal);
    let begin = number(&shortened.seals[0], "revision");
    shortened.rows.retain(|row| number(row, "revision") > begin);
    shortened
}

async fn rows_of_today_that_are_missing_at_the_beginning_are_found(store: Store) {
    let (database, mut tables, record, held) = recorded(store, false).await;
    for seal in [1, record.seals.len() / 2, record.seals.len() - 1] {
        let shortened = without_oldest(&record, seal);
        tables.write(&shortened).await;
        let begin = number(&shortened.seals[0], "revision");
        for arguments in [&["verify"][..], &["verify", "--seal", &held]] {
            let exit = audit(&database, arguments).await;
            expect_found(&exit, &format!("without {seal} batches"));
            let problem = format!("the rows up to revision {begin}, of ");
            assert!(exit.stdout.starts_with(&problem), "{exit:?}");
        }
        let older = format!("0:{}", "0".repeat(64));
        let exit = audit(&database, &["verify", "--seal", &older]).await;
        expect_found(&exit, "a seal that is not there any more");
        let problem = format!("the record begins after revision {begin}\n");
        assert!(exit.stdout.contains(&problem), "{exit:?}");
    }
}

async fn a_removal_that_the_seals_contradict_is_found(store: Store) {
    let (database, mut tables, record, held) = recorded(store, false).await;
    let shortened = without_oldest(&record, record.seals.len() / 2);
    let begin = number(&shortened.seals[0], "revision");
    let now = number(&shortened.seals[0], "at");
    let day = 86_400;
    for (before, days) in [
        // The removal claims rows older than 90 days, but the seal of the last missing row is from today.
        (now - 90 * day, 90),
        // The removal claims rows that its own retention would not remove yet.
        (now + day, 90),
        (now + day, 0),
    ] {
        tables.write(&shortened).await;
        tables.add_removal(begin, before, days).await;
        for arguments in [&["verify"][..], &["verify", "--seal", &held]] {
            let exit = audit(&database, arguments).await;
            expect_found(&exit, &format!("before {before}, {days} days"));
        }
    }
}

async fn an_erasure_by_hand_is_found(store: Store) {
    let (database, mut tables, record, held) = recorded(store, true).await;
    let erased: Vec<_> = record
        .rows
        .iter()
        .filter_map(|row| row["user_id"].as_i64())
        .collect();
    let erased = erased.into_iter().filter(|&id| has_erased(&record, id));
    assert_eq!(erased.max(), Some(2), "of the user 0");
    let mut kinds = BTreeMap::new();
    for (index, row) in record.rows.iter().enumerate() {
        for of_user in [true, false] {
            let acted = if row["actor_id"].is_null() {
                "user_id"
            } else {
                "actor_id"
            };
            let id = row[if of_user { "user_id" } else { acted }].as_i64();
            if id.is_some_and(|id| has_erased(&record, id)) {
                continue;
            }
            // One row of each kind is enough, because imported users have rows of the same kind.
            let kind = (text(row, "event").to_owned(), id.is_none(), of_user);
            kinds.entry(kind).or_insert((index, of_user));
        }
    }
    assert!(kinds.len() > 15, "{kinds:?}");
    for (kind, (index, of_user)) in kinds {
        let mut tampered = record.clone();
        erase(&mut tampered.rows[index], of_user);
        tables.write(&tampered).await;
        for arguments in [&["verify"][..], &["verify", "--seal", &held]] {
            expect_found(&audit(&database, arguments).await, &format!("{kind:?}"));
        }
    }
}
