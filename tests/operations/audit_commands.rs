//! Tests `auth-service audit list`, `export` and `verify`, and `user erase-audit`, on the record of a running service.

use crate::{stored_record::Tables, user_commands::user};
use e2e::{Exit, Process, Program, TestApp, TestDatabase, TestSetup, for_two_deployments};
use serde_json::{Value, json};
use std::collections::BTreeMap;

for_two_deployments!(
    the_record_is_listed_by_user_actor_and_event_with_quoted_names,
    the_record_is_exported_as_the_api_shows_it_the_oldest_first,
    verify_prints_the_seal_and_compares_a_held_one,
    an_erasure_removes_the_name_of_a_deleted_user_and_keeps_the_seals,
    an_erasure_removes_the_name_from_keys_that_the_user_made_for_others,
    a_row_that_was_tampered_with_keeps_the_name_and_the_erasure_says_so,
    the_name_of_a_user_who_exists_is_not_erased,
    a_time_that_cannot_be_written_is_shown_as_the_last_or_the_first,
);

pub(crate) async fn audit(database: &TestDatabase, arguments: &[&str]) -> Exit {
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    let arguments: Vec<_> = ["audit"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let program = Program::FastHashAuthService;
    Process::run(program, &arguments, &settings, folder.path(), "").await
}

/// Runs `audit verify`, expects it to succeed, and returns the printed seal as `REVISION:DIGEST`.
pub(crate) async fn verified(database: &TestDatabase, held: Option<&str>) -> String {
    let exit = match held {
        Some(held) => audit(database, &["verify", "--seal", held]).await,
        None => audit(database, &["verify"]).await,
    };
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let (rows, seal) = exit
        .stdout
        .trim_end()
        .split_once(" rows, sealed by ")
        .expect("one line");
    assert!(rows.parse::<u64>().is_ok(), "{exit:?}");
    seal.to_owned()
}

/// Returns the lines that `audit list` prints with these arguments.
async fn list(app: &TestApp, arguments: &[&str]) -> Vec<String> {
    let exit = audit(&app.database, &[&["list"], arguments].concat()).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
    exit.stdout.lines().map(str::to_owned).collect()
}

pub(crate) async fn export(database: &TestDatabase) -> Vec<Value> {
    let exit = audit(database, &["export"]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    exit.stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

async fn run(app: &TestApp, arguments: &[&str]) -> Exit {
    let exit = user(app, arguments, "a password\n", &[]).await;
    assert_eq!(exit.code, Some(0), "{arguments:?}: {exit:?}");
    exit
}

async fn expect_refused(app: &TestApp, arguments: &[&str], code: i32, problem: &str) {
    let exit = match arguments {
        ["erase-audit", ..] => user(app, arguments, "", &[]).await,
        _ => audit(&app.database, arguments).await,
    };
    assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
    let said = if code == 64 {
        &exit.stderr
    } else {
        &format!("{}{}", exit.stdout, exit.stderr)
    };
    assert!(said.contains(problem), "{arguments:?}: {exit:?}");
    assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
}

async fn the_record_is_listed_by_user_actor_and_event_with_quoted_names(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("o\"neil é", "author").await;
    let id = ann.id.to_string();
    e2e::eventually("the logins", async || {
        (list(&app, &["--event", "login_ok"]).await.len() == 2).then_some(())
    })
    .await;
    run(&app, &["create", "bob"]).await;
    app.database.rename("bob", "b\u{200b}ob").await;
    run(&app, &["disable", "b\u{200b}ob"]).await;

    let all = list(&app, &[]).await;
    let revision = |line: &String| {
        let number = line
            .split_whitespace()
            .next()
            .and_then(|it| it.parse::<usize>().ok());
        number.expect("a number")
    };
    let revisions: Vec<_> = all.iter().map(revision).collect();
    assert_eq!(
        revisions,
        (1..=all.len()).rev().collect::<Vec<_>>(),
        "the newest first"
    );
    let disabled = "  user_disabled     user 3 \"b\\u{200b}ob\"  by -  from -  {";
    assert!(
        all[0].contains(disabled) && all[0].contains("operator"),
        "{all:?}"
    );
    let time = all[0].split_whitespace().nth(1).expect("a time");
    assert!(time.len() == 20 && time.ends_with('Z'), "{all:?}");

    let changed = list(&app, &["--user-id", &id, "--event", "role_changed"]).await;
    let [line] = &changed[..] else {
        panic!("{changed:?}")
    };
    let expected = format!(
        "  role_changed      user {id} \"o\\\"neil é\"  by 1 \"admin\"  from 127.0.0.1  \
         {{\"from\":\"user\",\"to\":\"author\"}}"
    );
    assert!(line.ends_with(&expected), "{line}");
    assert_eq!(
        list(&app, &["--actor-id", "1", "--event", "role_changed"]).await,
        changed
    );
    let of_ann = list(&app, &["--actor-id", &id]).await;
    assert!(
        !of_ann.is_empty() && of_ann.iter().all(|it| it.contains("by 2 ")),
        "{of_ann:?}"
    );
    assert_eq!(list(&app, &["--limit", "2"]).await, all[..2]);
    for nothing in [
        ["--user-id", "99"],
        ["--actor-id", "99"],
        ["--event", "all_ended"],
    ] {
        let [option, value] = nothing;
        let found = list(&app, &[&format!("{option}={value}")]).await;
        assert_eq!(found, [""; 0], "{nothing:?}");
    }
    let of_name = list(&app, &["--username", "o\"neil é", "--event=role_changed"]).await;
    assert_eq!(of_name, changed);
    let by_admin = list(&app, &["--actor", "admin", "--event=role_changed"]).await;
    assert_eq!(by_admin, changed);
    let of_changes = list(&app, &["--events", "changes", "--since", "2020-01-01"]).await;
    assert!(of_changes.contains(&changed[0]), "{of_changes:?}");
    let before = list(&app, &["--events", "changes", "--before", "2020-01-01"]).await;
    assert_eq!(before, [""; 0]);
    let sign_ins = list(&app, &["--events", "sign-ins"]).await;
    assert!(!sign_ins.is_empty() && sign_ins.iter().all(|it| !of_changes.contains(it)));
    for (arguments, problem) in [
        (
            &["list", "--limit", "0"][..],
            "must be a whole number from 1 to 1000000",
        ),
        (
            &["list", "--limit", "1000001"],
            "must be a whole number from 1 to 1000000",
        ),
        (
            &["list", "--user-id", "ann"],
            "USER_ID: must be a whole number from 1 to",
        ),
        (
            &["list", "--actor-id=-1"],
            "ACTOR_ID: must be a whole number from 1 to",
        ),
        (
            &["list", "--event", "role_change"],
            "EVENT: must be one of: registered, user_created, ",
        ),
        (&["list", "--event", "login_ok "], "EVENT: must be one of: "),
        (
            &["list", "--events", "logins"],
            "EVENTS: must be sign-ins, changes or refusals",
        ),
        (
            &["list", "--since", "March"],
            "SINCE: must be a time such as 2026-12-04T17:00:00Z, or a date such as 2026-12-04",
        ),
        (
            &["list", "--before", "2026-02-30"],
            "BEFORE: must be a time such as",
        ),
        (&["list", "--newest"], "--newest"),
        (&["list", "1"], "there is no such flag or subcommand"),
        (&["lists"], "there is no such flag or subcommand"),
    ] {
        expect_refused(&app, arguments, 64, problem).await;
    }
}

async fn the_record_is_exported_as_the_api_shows_it_the_oldest_first(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("ann", "author").await;
    ann.session(&app.bearer).await;
    ann.key(&app.bearer).await;
    app.try_log_in("ann", "wrong").await.expect(401);
    app.try_log_in("stranger", "wrong").await.expect(401);
    run(&app, &["create", "bob"]).await;
    let admin = app.bearer.with_token(&app.admin().await.token);
    let shown = e2e::eventually("the refusals", async || {
        let shown = admin.get("/audit?limit=200").await.expect(200).json()["entries"].clone();
        let shown = shown.as_array().expect("entries").clone();
        let is_refusal = |entry: &&Value| entry["event"] == "login_failed";
        (shown.iter().filter(is_refusal).count() == 2).then_some(shown)
    });
    let mut shown = shown.await;
    shown.reverse();
    let exported = export(&app.database).await;
    // The export may have one more row, because a login of the admin may have been recorded since.
    assert_eq!(exported[..shown.len()], shown);
    let events: Vec<_> = shown
        .iter()
        .map(|it| it["event"].as_str().expect("text"))
        .collect();
    for event in [
        "registered",
        "role_changed",
        "session_created",
        "api_key_created",
        "login_ok",
    ] {
        assert!(events.contains(&event), "{events:?}");
    }
}

async fn verify_prints_the_seal_and_compares_a_held_one(setup: TestSetup) {
    let app = setup.start().await;
    run(&app, &["create", "ann"]).await;
    let early = verified(&app.database, None).await;
    let line = |name| json!({ "username": name, "password_hash": null }).to_string() + "\n";
    let lines: String = ["bob", "carl", "dora"].map(line).concat();
    let imported = user(&app, &["import", "-"], &lines, &[]).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let late = verified(&app.database, None).await;
    let (revision, digest) = late.split_once(':').expect("a seal");
    let number: u64 = revision.parse().expect("a number");
    assert!(digest.len() == 64 && early != late, "{late}");
    for good in [
        &early,
        &late,
        &format!("{revision}:{}", digest.to_uppercase()),
    ] {
        assert_eq!(verified(&app.database, Some(good)).await, late);
    }
    let exit = audit(&app.database, &["verify"]).await;
    assert!(
        exit.stderr.starts_with("the record reaches back to 20")
            && exit.stderr.ends_with("Z; nothing was removed from it\n"),
        "{exit:?}"
    );
    let (_, of_early) = early.split_once(':').expect("a seal");
    for (held, problem) in [
        (
            format!("{revision}:{of_early}"),
            "differs from the given one",
        ),
        (
            format!("{revision}:{}", "0".repeat(64)),
            "differs from the given one",
        ),
        // These revisions have no seal: one is inside the batch of the import, the other after the last row.
        (
            format!("{}:{digest}", number - 1),
            "there is no seal at revision",
        ),
        (
            format!("{}:{digest}", number + 1),
            "there is no seal at revision",
        ),
        (
            format!("-1:{digest}"),
            "cannot be compared: the record begins after revision 0",
        ),
    ] {
        let held = format!("--seal={held}");
        expect_refused(&app, &["verify", &held], 1, problem).await;
        expect_refused(
            &app,
            &["verify", &held],
            1,
            "the record was tampered with: 1 problems",
        )
        .await;
    }
    for malformed in [
        "",
        ":",
        revision,
        digest,
        &format!("{revision}:"),
        &format!(":{digest}"),
        &format!("{revision} {digest}"),
        &format!("x:{digest}"),
        &format!("{late}0"),
        &late[..late.len() - 1],
        &format!("{revision}:{}", "g".repeat(64)),
        &format!("{revision}:{late}"),
        &format!("99999999999999999999:{digest}"),
    ] {
        let problem = "must be revision:digest, as in a line audit_sealed of the log";
        expect_refused(&app, &["verify", "--seal", malformed], 64, problem).await;
    }
    expect_refused(&app, &["verify", "--seal"], 64, "SEAL: a value is missing").await;
}

/// Returns the entries in which this user is the changed user or the actor.
fn of(entries: &[Value], id: i64) -> impl Iterator<Item = &Value> {
    entries
        .iter()
        .filter(move |it| it["user_id"] == id || it["actor_id"] == id)
}

async fn an_erasure_removes_the_name_of_a_deleted_user_and_keeps_the_seals(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("planted-ann", "admin").await;
    let bob = app.user("bob").await;
    app.set_role(&ann, &bob, "author").await.expect(200);
    app.try_log_in("planted-ann", "wrong").await.expect(401);
    run(&app, &["delete", "planted-ann"]).await;
    let held = e2e::eventually("the refusal", async || {
        let seal = verified(&app.database, None).await;
        let refused = list(&app, &["--event", "login_failed"]).await;
        (refused.len() == 1).then_some(seal)
    });
    let held = held.await;
    let before = export(&app.database).await;
    let count = of(&before, ann.id).count();

    let erased = run(&app, &["erase-audit", "planted-ann"]).await;
    let said = format!("The name of user {} is erased from {count} rows.\n", ann.id);
    let left = erased
        .stdout
        .strip_prefix(&said)
        .expect("the number of rows");
    assert_eq!(left.lines().count(), 1, "{erased:?}");
    assert!(
        left.contains("VACUUM") && left.contains("backups keep it until you delete them"),
        "{erased:?}"
    );
    let line = erased
        .stderr
        .lines()
        .find(|line| line.contains("audit_erased"));
    assert!(
        line.is_some_and(|line| line.contains("operator")),
        "{erased:?}"
    );
    assert!(!format!("{erased:?}").contains("planted"), "{erased:?}");
    verified(&app.database, Some(&held)).await;
    let listed = list(&app, &["--limit", "1000"]).await.join("\n");
    assert!(
        !listed.contains("planted") && listed.contains("audit_erased"),
        "{listed}"
    );
    let after = export(&app.database).await;
    let (last, kept) = after.split_last().expect("entries");
    assert_eq!(last["event"], "audit_erased");
    assert_eq!(
        (&last["user_id"], &last["username"]),
        (&json!(ann.id), &Value::Null)
    );
    assert_eq!(last["details"], json!({ "by": "operator", "rows": count }));
    for (old, new) in before.iter().zip(kept) {
        let mut expected = old.clone();
        if old["user_id"] == ann.id {
            expected["username"] = Value::Null;
        }
        let acted = if old["actor_id"].is_null() {
            &old["user_id"]
        } else {
            &old["actor_id"]
        };
        if *acted == ann.id {
            (expected["actor"], expected["client_address"]) = (Value::Null, Value::Null);
        }
        assert_eq!(*new, expected);
    }
    assert_eq!(before.len(), kept.len());
    // The erasure leaves what other users did: the admin's address stays in the change of ann's role, and bob's name in
    // the change that ann made.
    let addresses = of(&after, ann.id)
        .filter(|it| it["client_address"] == "127.0.0.1")
        .count();
    let named = of(&after, ann.id)
        .filter(|it| it["username"] == "bob")
        .count();
    assert_eq!((addresses, named), (1, 1), "{after:?}");
    let problem = "the record has no deleted user \"planted-ann\"";
    expect_refused(&app, &["erase-audit", "planted-ann"], 1, problem).await;
}

async fn an_erasure_removes_the_name_from_keys_that_the_user_made_for_others(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user_with_role("planted-ann", "admin").await;
    let bob = app.user("bob").await;
    let path = format!("/users/{}/keys", bob.id);
    let as_ann = app.bearer.with_token(&ann.token);
    let key = json!({ "name": "service", "role": "user" });
    as_ann.post(&path, &key).await.expect(201);
    let as_admin = app.bearer.with_token(&app.admin().await.token);
    as_admin.post(&path, &key).await.expect(201);
    let made_by = async || {
        let keys = as_admin.get(&path).await.expect(200).json();
        let keys = keys["keys"].as_array().expect("keys").clone();
        keys.into_iter()
            .map(|key| key["created_by"].clone())
            .collect::<Vec<_>>()
    };
    run(&app, &["delete", "planted-ann"]).await;
    assert_eq!(made_by().await, [json!("planted-ann"), json!("admin")]);
    let erased = run(&app, &["erase-audit", "planted-ann"]).await;
    let said = "The name is erased from 1 API keys that the user created for others.\n";
    assert!(erased.stdout.contains(said), "{erased:?}");
    assert_eq!(made_by().await, [Value::Null, json!("admin")]);
    verified(&app.database, None).await;
}

async fn a_row_that_was_tampered_with_keeps_the_name_and_the_erasure_says_so(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    // Logins are recorded in the background, after their response.
    e2e::eventually("the login", async || {
        let logins = list(&app, &["--event", "login_ok"]).await;
        (!logins.is_empty()).then_some(())
    })
    .await;
    run(&app, &["delete", "ann"]).await;
    verified(&app.database, None).await;
    let tamper = "UPDATE audit SET commitments = 'x' WHERE event = 'user_deleted'";
    app.database.execute(tamper).await;
    let erased = user(&app, &["erase-audit", "ann"], "", &[]).await;
    assert_eq!(erased.code, Some(1), "{erased:?}");
    for problem in [
        ": the salts are malformed",
        "1 rows were tampered with, so nothing was erased from them",
    ] {
        assert!(erased.stderr.contains(problem), "{erased:?}");
    }
    let exported = export(&app.database).await;
    let named: Vec<_> = of(&exported, ann.id)
        .filter(|it| it["username"] == "ann")
        .map(|it| it["event"].clone())
        .collect();
    assert_eq!(named, ["user_deleted"]);
}

async fn the_name_of_a_user_who_exists_is_not_erased(setup: TestSetup) {
    let app = setup.start().await;
    let first = app.user("ann").await.id;
    let exists = "the user \"ann\" exists; delete the user first";
    expect_refused(&app, &["erase-audit", "ann"], 1, exists).await;
    let problem = "the record has no deleted user \"stranger\"";
    expect_refused(&app, &["erase-audit", "stranger"], 1, problem).await;
    expect_refused(&app, &["erase-audit"], 64, "USERNAME: is required").await;
    run(&app, &["delete", "ann"]).await;
    let second = app.user("ann").await.id;
    assert_ne!(first, second);
    let named = async |id| {
        let entries = export(&app.database).await;
        of(&entries, id)
            .filter(|it| it["username"] == "ann")
            .count()
    };
    let before = named(first).await;
    expect_refused(&app, &["erase-audit", "ann"], 1, exists).await;
    assert!(
        named(first).await >= before && before >= 2,
        "the old rows stay"
    );
    assert_eq!(list(&app, &["--event", "audit_erased"]).await, [""; 0]);
    // Waits for both rows of the second user: the sign-in is recorded in the background, after its response.
    e2e::eventually("the login", async || {
        (named(second).await >= 2).then_some(())
    })
    .await;
    run(&app, &["delete", "ann"]).await;
    let both = run(&app, &["erase-audit", "ann"]).await.stdout;
    let ids = [first, second].map(|id| format!("The name of user {id} is erased from "));
    assert!(
        ids.iter().all(|said| both.contains(said)) && both.lines().count() == 3,
        "{both}"
    );
    assert_eq!((named(first).await, named(second).await), (0, 0));
    verified(&app.database, None).await;
}

async fn a_time_that_cannot_be_written_is_shown_as_the_last_or_the_first(setup: TestSetup) {
    let mut app = setup.start().await;
    app.kill_auth().await;
    let mut tables = Tables::of(&app.database).await;
    for (at, shown) in [
        (i64::MAX, "9999-12-31T23:59:59"),
        (-1, "1970-01-01T00:00:00"),
    ] {
        run(&app, &["revoke-tokens", "admin"]).await;
        verified(&app.database, None).await;
        let mut record = tables.read().await;
        record
            .rows
            .last_mut()
            .expect("a row")
            .insert("at".to_owned(), at.into());
        record.seal();
        tables.write(&record).await;
        let listed = list(&app, &["--limit", "1"]).await;
        assert!(listed[0].contains(&format!("{shown}Z")), "{listed:?}");
        let exported = export(&app.database).await;
        assert_eq!(
            exported.last().expect("a row")["time"],
            format!("{shown}.000Z")
        );
        verified(&app.database, None).await;
    }
}
