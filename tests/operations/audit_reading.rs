//! Tests `audit list` and `audit export` where rows were changed by hand, and where no program reads their output.

use crate::{
    audit_commands::audit,
    audit_retention::watch,
    user_commands::{expect_no_transaction, start_command, user},
};
use e2e::{
    Exit, Store, TestApp, TestSetup, for_both_stores, for_two_deployments, grpc::expect_error,
};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use tonic::Code;

for_two_deployments!(an_export_that_nobody_takes_holds_no_transaction);
for_both_stores!(
    a_row_that_cannot_be_read_is_named_and_the_others_are_printed,
    texts_of_a_tampered_row_forge_no_line_of_the_list,
);

/// How many users are imported, so that the rows of the record are far more than a pipe buffers.
const IMPORTED: usize = 3000;

async fn run(app: &TestApp, arguments: &[&str], input: &str) {
    let exit = user(app, arguments, input, &[]).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
}

async fn an_export_that_nobody_takes_holds_no_transaction(setup: TestSetup) {
    let store = setup.store();
    let app = setup.start().await;
    let line = |number| json!({ "username": format!("user {number}"), "password_hash": null });
    let lines: Vec<_> = (0..IMPORTED)
        .map(|number| line(number).to_string())
        .collect();
    run(&app, &["import", "-"], &lines.join("\n")).await;
    let exported = audit(&app.database, &["verify"]).await;
    assert_eq!(exported.code, Some(0), "{exported:?}");
    let mut export = start_command(&app, &["audit", "export"]);
    let mut lines = BufReader::new(export.stdout.take().expect("piped"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("read");
    assert!(first.starts_with('{'), "{first}");
    expect_no_transaction(&app, store).await;
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("text");
    let ended = export.wait_with_output().expect("ended");
    assert!(ended.status.success(), "{ended:?}");
    let imported = rest
        .lines()
        .filter(|line| line.contains("user_imported"))
        .count();
    let in_first = usize::from(first.contains("user_imported"));
    assert_eq!(imported + in_first, IMPORTED);
}

#[track_caller]
fn expect_named(exit: &Exit, revisions: &[i64]) {
    assert_eq!(exit.code, Some(1), "{exit:?}");
    for revision in revisions {
        let named = format!("revision {revision}: ");
        assert!(exit.stderr.contains(&named), "{revision}: {exit:?}");
    }
    let count = format!("{} rows could not be read", revisions.len());
    assert!(exit.stderr.contains(&count), "{exit:?}");
    assert_eq!(exit.stderr.lines().count(), revisions.len() + 1, "{exit:?}");
}

async fn a_row_that_cannot_be_read_is_named_and_the_others_are_printed(store: Store) {
    let app = TestSetup::all_in_one(store).start().await;
    for name in ["ann", "bob", "carl", "dora"] {
        run(&app, &["create", name], "a password\n").await;
    }
    let before = audit(&app.database, &["export"]).await;
    let lines = before.stdout.lines().count();
    assert!(before.code == Some(0) && lines >= 5, "{before:?}");
    let tamper = if store == Store::Sqlite {
        "UPDATE audit SET event = x'ff' WHERE revision = 2;
            UPDATE audit SET at = 'yesterday' WHERE revision = 4;"
    } else {
        "ALTER TABLE audit ALTER COLUMN event DROP NOT NULL, ALTER COLUMN at DROP NOT NULL;
            UPDATE audit SET event = NULL WHERE revision = 2;
            UPDATE audit SET at = NULL WHERE revision = 4;"
    };
    app.database.execute(tamper).await;
    app.database
        .execute("UPDATE audit SET details = 'no JSON' WHERE revision = 3")
        .await;

    let exported = audit(&app.database, &["export"]).await;
    expect_named(&exported, &[2, 3, 4]);
    let revisions: Vec<_> = exported
        .stdout
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).expect("JSON");
            entry["revision"].as_i64().expect("a number")
        })
        .collect();
    assert_eq!(revisions[..2], [1, 5], "{exported:?}");
    assert!(revisions.len() >= lines - 3, "{exported:?}");

    let listed = audit(&app.database, &["list", "--limit", "1000"]).await;
    // A list prints the stored details unchanged, even if they are not JSON.
    expect_named(&listed, &[2, 4]);
    assert!(listed.stdout.contains("no JSON\n"), "{listed:?}");
    assert!(listed.stdout.lines().count() >= lines - 2, "{listed:?}");

    expect_page_with_unreadable_rows(&app, lines).await;
    let mut changes = watch(&app, Some(1)).await.expect("begun");
    let ended = changes.message().await.map(tonic::Response::new);
    let status = expect_error(ended, Code::OutOfRange, "SNAPSHOT_REQUIRED");
    assert_eq!(
        status.message(),
        "the change of revision 2 cannot be read",
        "nothing is skipped"
    );
}

/// Checks that the API's page has all rows, and marks the three that cannot be read.
async fn expect_page_with_unreadable_rows(app: &TestApp, lines: usize) {
    let admin = app.bearer.with_token(&app.admin().await.token);
    let page = admin.get("/audit?limit=200").await.expect(200).json();
    let entries = page["entries"].as_array().expect("entries");
    assert!(entries.len() >= lines, "{page}");
    for (revision, column) in [(2, "event"), (3, "details"), (4, "at")] {
        let entry = entries.iter().find(|entry| entry["revision"] == revision);
        let entry = entry.expect("it is named");
        assert_eq!(entry["event"], "audit_unreadable", "{entry}");
        assert_eq!(entry["details"], json!({ "column": column }), "{entry}");
        assert_eq!(entry["username"], Value::Null, "{entry}");
        let has_time = entry["time"] != "1970-01-01T00:00:00.000Z";
        assert_eq!(has_time, column != "at", "{entry}");
    }
    let ann = entries.iter().find(|entry| entry["revision"] == 5);
    assert_eq!(ann.expect("an entry")["event"], "user_created");
}

async fn texts_of_a_tampered_row_forge_no_line_of_the_list(store: Store) {
    let app = TestSetup::all_in_one(store).start().await;
    run(&app, &["create", "ann"], "a password\n").await;
    let before = audit(&app.database, &["list"]).await;
    assert_eq!(before.code, Some(0), "{before:?}");
    let lines = before.stdout.lines().count();
    // The texts contain a line break, a terminal escape, a change of writing direction, and an invisible character.
    app.database
        .execute(if store == Store::Sqlite {
            "UPDATE audit SET event = event || char(10, 27, 8238, 12644) || '[2Jforged',
                username = username || char(10, 27, 8238, 12644) || '[2Jforged',
                client_address = char(10, 27, 8238, 12644) || '[2Jforged',
                details = details || char(10, 27, 8238, 12644) || '[2Jforged'
            WHERE revision = 2"
        } else {
            "UPDATE audit SET event = event || forged, username = username || forged,
                client_address = forged, details = details || forged
            FROM (SELECT E'\\n\\x1b\\u202e\\u3164[2Jforged' AS forged) AS f WHERE revision = 2"
        })
        .await;
    let after = audit(&app.database, &["list"]).await;
    assert_eq!(after.code, Some(0), "{after:?}");
    assert!(after.stdout.lines().count() >= lines, "{after:?}");
    let hidden = ['\u{1b}', '\u{202e}', '\u{3164}'];
    assert!(!after.stdout.contains(hidden), "{after:?}");
    let tampered: Vec<_> = after
        .stdout
        .lines()
        .filter(|line| line.contains("forged"))
        .collect();
    let [line] = tampered[..] else {
        panic!("not one line: {after:?}");
    };
    assert_eq!(line.matches("[2Jforged").count(), 4, "{line}");
    assert!(line.starts_with("       2  "), "{line}");
}
