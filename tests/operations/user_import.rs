//! Tests `auth-service user import` and `user export` while the service runs.

use crate::user_commands::{expect_no_transaction, start_command};
use e2e::{
    Exit, Process, Program, SIGNING_SECRET, Store, TestApp, TestSetup, TestUser, eventually,
    for_both_stores, for_two_deployments,
    token::{claims_of, header, now, plain_header, signed},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader},
};

for_two_deployments!(
    imported_users_log_in_and_get_a_hash_of_bcrypt,
    bad_import_is_reported_by_line_and_changes_nothing,
    export_into_a_pipe_without_a_reader_holds_no_transaction,
    a_user_without_a_password_logs_in_after_a_reset,
    a_repeated_import_prints_twenty_lines_and_names_skip_existing,
);

for_both_stores!(
    what_ended_tokens_is_exported_and_imported,
    groups_and_ends_are_exported_and_imported_as_far_as_they_have_not_passed,
);

const PASSWORD: &str = "corréct horse";
/// Hashes of this password by PHP, argon2-cffi and passlib, and in the formats of ASP.NET, Keycloak and WordPress.
const HASHES: [&str; 6] = [
    "$2y$06$YnhGMhAWxuqLN1etlBMZ5.d/wg83Z53LWTaPcjr33dIPwB1Z2A.Fa",
    "$argon2i$v=19$m=1024,t=3,p=4$rXVOyVlrTcm5V+r9n5Oylg$EceDiYZz5d2nfZqktTmjACCB4eEBIfYZsZxNGL/FGEw",
    "$scrypt$ln=10,r=8,p=1$AoBw7h3DOGeM0VrLGcP4Pw$W/RUQP+SWRGzuapB8gMaSsBCHAw9vRoKI0g6QvyrC7E",
    "AQAAAAIAACcQAAAAEB4rWt1jJWmrXNB80dwfytmrJz9+doZ6OnhiNUuQ+n2GFTBZrPVE3s+vSYRyREM2sA==",
    "$pbkdf2-sha512$30000$eXz.8r1RQiEXKjaXTkihUQ$RH2H72tnLJjDo7bJznFAwBdS/NhbLKItcI8vAyavIJPhM77iRFlnwKWmCyPjMacGHg5OqNMYh5nM/q6mliLM/A",
    "$wp$2y$05$ZN9jvzSn.706zhwViiy67unM.v3e9pfmIxENBJMyA/lZ9RAku4UWu",
];

/// A bcrypt hash of cost 12, of a password that no test uses.
const HASH: &str = "$2b$12$L6Bc/AlTQHyd9liGgGEZyOFLPHNgyxeEPfgYfBCVxJ7JIlwxyVU3u";

async fn user(app: &TestApp, arguments: &[&str], input: &str) -> Exit {
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    let folder = tempfile::tempdir().expect("a folder");
    let arguments: Vec<_> = ["user"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let program = Program::FastHashAuthService;
    Process::run(program, &arguments, &settings, folder.path(), input).await
}

async fn export_into_a_pipe_without_a_reader_holds_no_transaction(setup: TestSetup) {
    let store = setup.store();
    let app = setup.start().await;
    // The export of so many users is far more than a pipe buffers.
    let line = |number| json!({ "username": format!("user{number}"), "password_hash": HASH });
    let lines: Vec<_> = (0..3000).map(|number| line(number).to_string()).collect();
    assert_eq!(
        user(&app, &["import", "-"], &lines.join("\n")).await.code,
        Some(0)
    );
    let mut export = start_command(&app, &["user", "export"]);
    let mut audit = BufReader::new(export.stderr.take().expect("piped"));
    let mut line = String::new();
    audit.read_line(&mut line).expect("read");
    assert!(line.contains("users_exported"), "{line}");
    expect_no_transaction(&app, store).await;
    let output = export.wait_with_output().expect("ended");
    let exported = String::from_utf8(output.stdout).expect("text");
    assert_eq!(exported.lines().count(), 3001, "all, and admin");
}

async fn imported_users_log_in_and_get_a_hash_of_bcrypt(setup: TestSetup) {
    let app = setup.start().await;
    let names = [
        "of php",
        "of argon2",
        "of scrypt",
        "of asp.net",
        "of keycloak",
        "of wordpress",
    ];
    let line = |(name, hash)| {
        json!({ "username": name, "password_hash": hash, "role": "author" }).to_string()
    };
    let lines: Vec<_> = names.iter().zip(HASHES).map(line).collect();
    let lines = lines.join("\n");
    let imported = user(&app, &["import", "-"], &lines).await;
    let flag = "line 1: password_hash is below a tenth of OWASP's minimum; --accept-weak-hashes";
    assert!(imported.stderr.contains(flag), "{imported:?}");
    let imported = user(&app, &["import", "-", "--accept-weak-hashes"], &lines).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let counts = "6 imported, 0 skipped because they exist, 0 bad lines.\n\
        6 password hashes are below OWASP's minimum; each is replaced at the next login.\n";
    assert_eq!(imported.stdout, counts);
    let audited = imported
        .stderr
        .lines()
        .find(|line| line.contains("users_imported"));
    assert!(
        audited.is_some_and(|line| line.contains("operator")),
        "{imported:?}"
    );
    for (name, hash) in names.into_iter().zip(HASHES) {
        let basic = |password| app.basic.with_basic(name, password);
        basic("wrong").get("/protected").await.expect(401);
        basic(PASSWORD).get("/protected").await.expect(200);
        app.try_log_in(name, "wrong")
            .await
            .expect_detail(401, "Invalid username or password.");
        let stored = || async { app.database.user(name).await.expect("stored").password };
        let imported = stored().await;
        assert!(
            imported == hash || name == "of asp.net",
            "nothing is replaced"
        );
        let token = e2e::TestUser::log_in(&app.bearer, name, PASSWORD)
            .await
            .token;
        app.bearer
            .with_token(&token)
            .get("/author")
            .await
            .expect(200);
        let new = eventually("a hash of bcrypt", async || {
            let new = stored().await;
            (new != imported).then_some(new)
        });
        assert!(new.await.starts_with("$2b$"), "{name}");
        app.try_log_in(name, PASSWORD).await.expect(200);
        app.try_log_in(name, "wrong").await.expect(401);
    }

    let exported = user(&app, &["export"], "").await;
    assert_eq!(exported.code, Some(0), "{exported:?}");
    assert!(exported.stderr.contains("users_exported"), "{exported:?}");
    let users: Vec<Value> = exported
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let exported_names: Vec<_> = users.iter().map(|user| &user["username"]).collect();
    assert_eq!(exported_names, [&["admin"][..], &names].concat());
    // The programs under test hash with cost 4, which an import refuses as weak by default.
    let options = ["import", "-", "--skip-existing", "--accept-weak-hashes"];
    let again = user(&app, &options, &exported.stdout).await;
    let counts = "0 imported, 7 skipped because they exist, 0 bad lines.\n";
    assert_eq!((again.code, &*again.stdout), (Some(0), counts), "{again:?}");
    assert_eq!(user(&app, &["export"], "").await.stdout, exported.stdout);
}

async fn bad_import_is_reported_by_line_and_changes_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let good = json!({ "username": "ann", "password_hash": HASH }).to_string();
    let planted = "planted-hash-1f3a";
    let bad = json!({ "username": "bob", "password_hash": planted }).to_string();
    let admin = json!({ "username": "admin", "password_hash": HASH }).to_string();
    let input = format!(
        "{good}\n{bad}\n\n{planted}\n{admin}\n{}\n",
        "x".repeat(40_000)
    );
    for dry_run in [&["import", "-"][..], &["import", "--dry-run", "-"]] {
        let refused = user(&app, dry_run, &input).await;
        assert_eq!(
            (refused.code, &*refused.stdout),
            (Some(1), ""),
            "{refused:?}"
        );
        for line in [
            "line 2: password_hash is in no supported format",
            "line 4: is not a JSON object: column 1",
            "line 5: the user \"admin\" exists already",
            "line 6: has more than 16 KiB",
            "nothing was imported: 4 bad lines",
        ] {
            assert!(refused.stderr.contains(line), "no {line} in {refused:?}");
        }
        assert!(!refused.stderr.contains(planted), "{refused:?}");
        assert_eq!(app.database.count_users().await, 1);
    }
    let dry = user(&app, &["import", "--dry-run", "-"], &good).await;
    assert_eq!(
        dry.stdout,
        "1 users can be imported, 0 are skipped because they exist.\n"
    );
    let continued = user(&app, &["import", "--continue", "-"], &input).await;
    let counts = "1 imported, 0 skipped because they exist, 4 bad lines.\n";
    assert_eq!(
        (continued.code, &*continued.stdout),
        (Some(2), counts),
        "{continued:?}"
    );
    assert!(
        continued.stderr.contains("4 bad lines were not imported"),
        "{continued:?}"
    );
    assert_eq!(app.database.count_users().await, 2);
    for (arguments, code, problem) in [
        (&["import"][..], 64, "FILE: is required"),
        (&["import", "no such file"], 64, "FILE: cannot be read"),
        (&["import", "/"], 64, "FILE: cannot be read"),
        (
            &["import", "-", "--dry-run", "--continue"],
            64,
            "cannot be used with",
        ),
    ] {
        let exit = user(&app, arguments, "").await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.contains(problem), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
    }
}

async fn a_user_without_a_password_logs_in_after_a_reset(setup: TestSetup) {
    let app = setup.start().await;
    let ann = json!({ "username": "ann", "password_hash": null, "id": 7, "role": "author" });
    let imported = user(&app, &["import", "-"], &ann.to_string()).await;
    let counts = "1 imported, 0 skipped because they exist, 0 bad lines.\n\
        1 users have no password; user reset-password gives them one.\n";
    assert_eq!(
        (imported.code, &*imported.stdout),
        (Some(0), counts),
        "{imported:?}"
    );
    for arguments in [&["list"][..], &["show", "ann"]] {
        let shown = user(&app, arguments, "").await;
        let row = shown.stdout.lines().last().expect("a row");
        assert!(
            row.starts_with("       7  author  enabled   2"),
            "{shown:?}"
        );
        assert!(row.ends_with("  \"ann\"  (no password)"), "{shown:?}");
    }
    for password in ["", "!", "null", PASSWORD] {
        let refused = app.try_log_in("ann", password).await;
        refused.expect_detail(401, "Invalid username or password.");
        app.basic
            .with_basic("ann", password)
            .get("/protected")
            .await
            .expect(401);
    }
    let exported = user(&app, &["export"], "").await;
    assert!(
        exported
            .stdout
            .contains(r#""username":"ann","password_hash":null"#),
        "{exported:?}"
    );
    let reset = user(&app, &["reset-password", "ann"], &format!("{PASSWORD}\n")).await;
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let token = e2e::TestUser::log_in(&app.bearer, "ann", PASSWORD)
        .await
        .token;
    app.bearer
        .with_token(&token)
        .get("/author")
        .await
        .expect(200);
    let shown = user(&app, &["show", "ann"], "").await;
    assert!(!shown.stdout.contains("no password"), "{shown:?}");
}

async fn a_repeated_import_prints_twenty_lines_and_names_skip_existing(setup: TestSetup) {
    let app = setup.start().await;
    let line = |name: &str| json!({ "username": name, "password_hash": HASH }).to_string() + "\n";
    let lines: String = (0..50)
        .map(|number| line(&format!("user {number}")))
        .collect();
    let lines = lines + &line("User 1");
    let first = user(&app, &["import", "-"], &lines).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let warning = "line 51: warning: \"User 1\" differs in case only";
    assert_eq!(first.stderr.matches(warning).count(), 1, "{first:?}");
    let again = user(&app, &["import", "-"], &lines).await;
    assert_eq!(again.code, Some(1), "{again:?}");
    let printed = again
        .stderr
        .lines()
        .filter(|line| line.contains("exists already"))
        .count();
    assert_eq!(printed, 20, "{again:?}");
    let rest = "51 users exist already; --skip-existing skips them\n";
    assert!(again.stderr.contains(rest), "{again:?}");
    assert!(
        again.stderr.contains("nothing was imported: 51 bad lines"),
        "{again:?}"
    );
}

async fn what_ended_tokens_is_exported_and_imported(store: Store) {
    let setup = TestSetup::all_in_one(store);
    let old = setup.clone().start().await;
    let (ann, bob) = (old.user("ann").await, old.user("bob").await);
    old.database.revoke_tokens_of_ann_ten_minutes_ahead().await;
    // The token was issued by a clock that was ahead.
    let mut claims = claims_of(ann.id);
    claims["exp"] = (now() + 45 + 1800).into();
    let ended = [
        signed(&plain_header(), &claims, SIGNING_SECRET),
        ann.token,
        bob.token,
    ];
    for name in ["ann", "bob"] {
        assert_eq!(user(&old, &["revoke-tokens", name], "").await.code, Some(0));
    }
    let marked = TestUser::log_in(&old.bearer, "ann", &ann.password)
        .await
        .token;
    assert!(header(&marked)["marked_until"].is_u64(), "{marked}");
    let moved = TestUser::log_in(&old.bearer, "bob", &bob.password).await;
    let exported = user(&old, &["export"], "").await.stdout;

    let new = setup.start().await;
    let import = ["import", "-", "--skip-existing", "--accept-weak-hashes"];
    let imported = user(&new, &import, &exported).await;
    assert!(
        imported.stdout.contains("2 imported, 1 skipped"),
        "{imported:?}"
    );
    for app in [&old, &new] {
        for token in &ended {
            let answer = app.bearer.with_token(token).get("/profile").await;
            answer.expect_detail(401, "Invalid or expired token.");
        }
        for token in [&marked, &moved.token] {
            let answer = app.bearer.with_token(token).get("/profile").await;
            answer.expect(200);
        }
        let token = TestUser::log_in(&app.bearer, "ann", &ann.password)
            .await
            .token;
        assert_eq!(
            header(&token)["marked_until"],
            header(&marked)["marked_until"]
        );
    }
    let users = |export: String| {
        export
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        users(user(&new, &["export"], "").await.stdout),
        users(exported)
    );
}

async fn groups_and_ends_are_exported_and_imported_as_far_as_they_have_not_passed(store: Store) {
    let setup = TestSetup::all_in_one(store);
    let old = setup.clone().start().await;
    let admin = old.bearer.with_token(&old.admin().await.token);
    let line = json!({
        "username": "ann",
        "password_hash": HASH,
        "until": "2090-12-04T17:00:00Z",
        "groups": [
            { "name": "staff" },
            { "name": "crew", "until": "2090-12-04T17:00:00Z" },
            { "name": "past", "until": "2020-01-01T00:00:00Z" },
        ],
    });
    let imported = user(&old, &["import", "-"], &line.to_string()).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let groups = json!({ "groups": [
        { "id": 1, "name": "crew", "members": 1 },
        { "id": 2, "name": "staff", "members": 1 },
    ], "next": null });
    admin.get("/groups").await.expect_json(200, &groups);
    let exported = user(&old, &["export"], "").await.stdout;
    let ann: Value = serde_json::from_str(exported.lines().last().expect("ann")).expect("JSON");
    let end = "2090-12-04T17:00:00Z";
    assert_eq!(ann["until"], end);
    assert_eq!(
        ann["groups"],
        json!([{ "name": "crew", "until": end }, { "name": "staff" }])
    );

    let new = setup.start().await;
    let import = ["import", "-", "--skip-existing", "--accept-weak-hashes"];
    let imported = user(&new, &import, &exported).await;
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let again = user(&new, &["export"], "").await.stdout;
    assert_eq!(again.lines().last(), exported.lines().last());

    for (broken, problem) in [
        (
            json!("staff"),
            "groups is not a list of objects with name and until",
        ),
        (
            json!([{ "name": "Staff" }]),
            "Group name must begin with a letter",
        ),
        (
            json!([{ "name": "admin" }]),
            "Group name must not be the name of a role",
        ),
        (
            json!([{ "name": "staff" }, { "name": "staff" }]),
            "groups has staff twice",
        ),
        (
            json!([{ "name": "staff", "until": "Friday" }]),
            "until of the group staff must be a time",
        ),
        (
            json!([{ "name": "staff", "untill": end }]),
            "groups is not a list of objects",
        ),
    ] {
        let line = json!({ "username": "bob", "password_hash": HASH, "groups": broken });
        let refused = user(&new, &["import", "-"], &line.to_string()).await;
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let output = format!("{}{}", refused.stdout, refused.stderr);
        assert!(output.contains(problem), "{refused:?}");
    }
}
