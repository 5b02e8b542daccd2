//! Tests `auth-service user …`, with which operators manage users, for example after the admin's password was lost.

use e2e::{
    ADMIN_PASSWORD, Exit, Process, Program, Store, TestApp, TestSetup, eventually,
    for_all_deployments, for_two_deployments,
};
use std::{
    collections::BTreeMap,
    process::{Child, Command, Stdio},
};

for_all_deployments!(users_are_created_listed_shown_and_deleted);
for_two_deployments!(
    create_with_a_link_prints_the_link_and_lists_a_user_without_a_password,
    a_filter_by_an_unknown_role_is_an_error_that_lists_the_roles,
    set_role_takes_effect_with_the_next_request,
    reset_password_replaces_the_password,
    revoke_tokens_ends_them_and_nothing_else,
    create_key_prints_a_key_that_works_at_once,
    invalid_command_is_reported_and_changes_nothing,
);

const NEW_PASSWORD: &str = "planted-new-password-5b1e";

pub(crate) async fn user(
    app: &TestApp,
    arguments: &[&str],
    input: &str,
    more: &[(&str, &str)],
) -> Exit {
    let mut settings = BTreeMap::from([("DATABASE_URL".to_owned(), app.database.url())]);
    settings.extend(
        more.iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let arguments: Vec<_> = ["user"]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    let program = Program::FastHashAuthService;
    Process::run(program, &arguments, &settings, folder.path(), input).await
}

/// Returns what `user list` or `user show` printed, without the columns of times.
pub(crate) fn without_times(listed: &str) -> String {
    let start = listed.find("CREATED").expect("the heading");
    let end = listed.find("USERNAME").expect("the heading");
    let without = |line: &str| format!("{}{}", &line[..start], &line[end..]);
    listed.split_inclusive('\n').map(without).collect()
}

/// Starts a command whose output is not read yet, so that it blocks once the pipe is full.
pub(crate) fn start_command(app: &TestApp, arguments: &[&str]) -> Child {
    let mut command = Command::new(Program::FastHashAuthService.path());
    command
        .args(arguments)
        .env_clear()
        .env("DATABASE_URL", app.database.url())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command.spawn().expect("started")
}

/// Waits until no command holds a transaction open.
pub(crate) async fn expect_no_transaction(app: &TestApp, store: Store) {
    if store == Store::Sqlite {
        // A command with an open read transaction would keep the write-ahead log from becoming empty. The service
        // writes to the log only now and then.
        eventually("the log to be empty", async || {
            app.database
                .execute("PRAGMA wal_checkpoint(TRUNCATE)")
                .await;
            let log = app.database.file().with_extension("db-wal");
            (log.metadata().expect("there").len() == 0).then_some(())
        })
        .await;
    } else {
        let open = "SELECT 1 FROM pg_stat_activity
            WHERE datname = current_database() AND state LIKE 'idle in transaction%'";
        // The service has transactions of its own and may be between two of their statements, so this is tried again.
        eventually("no transaction to be open", async || {
            (app.database.count_rows(open).await == 0).then_some(())
        })
        .await;
    }
}

async fn users_are_created_listed_shown_and_deleted(setup: TestSetup) {
    let app = setup.with("REGISTRATION", "closed").start().await;
    let run = async |arguments: &[&str]| {
        let exit = user(&app, arguments, &format!("{NEW_PASSWORD}\n"), &[]).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        assert!(
            !format!("{}{}", exit.stdout, exit.stderr).contains(NEW_PASSWORD),
            "{exit:?}"
        );
        exit
    };
    let created = run(&["create", "ann"]).await;
    assert_eq!(
        created.stdout,
        "User 2 (\"ann\") is created, with the role user.\n"
    );
    let audited = |exit: &Exit, event: &str| {
        let line = exit
            .stderr
            .lines()
            .find(|line| line.contains("audit"))
            .unwrap_or_default();
        assert!(
            line.contains(event) && line.contains("operator"),
            "{exit:?}"
        );
    };
    audited(&created, "user_created");
    run(&["create", "bob b", "--role", "author"]).await;
    e2e::TestUser::log_in(&app.bearer, "ann", NEW_PASSWORD).await;
    let bob = e2e::TestUser::log_in(&app.bearer, "bob b", NEW_PASSWORD).await;
    app.bearer
        .with_token(&bob.token)
        .get("/author")
        .await
        .expect(200);
    let disabled = run(&["disable", "ann"]).await;
    assert_eq!(disabled.stdout, "User 2 (\"ann\") is disabled now.\n");
    audited(&disabled, "user_disabled");
    app.try_log_in("ann", NEW_PASSWORD).await.expect(401);
    audited(&run(&["enable", "ann"]).await, "user_enabled");
    app.try_log_in("ann", NEW_PASSWORD).await.expect(200);
    run(&["disable", "ann"]).await;
    app.database
        .execute("UPDATE \"user\" SET last_login_at = 1800000000 WHERE username = 'ann'")
        .await;
    let header = "      ID  ROLE    STATE     USERNAME\n";
    let ann = "       2  user    disabled  \"ann\"\n";
    let list = run(&["list"]).await.stdout;
    let others = [
        "       1  admin   enabled   \"admin\"\n",
        "       3  author  enabled   \"bob b\"\n",
    ];
    assert_eq!(
        without_times(&list),
        [header, others[0], ann, others[1]].concat()
    );
    let shown = run(&["show", "ann"]).await.stdout;
    assert_eq!(without_times(&shown), format!("{header}{ann}"));
    let [heading, times] = shown.lines().collect::<Vec<_>>()[..] else {
        panic!("{shown}");
    };
    let created = heading.find("CREATED").expect("a column");
    let day_of_creation = &times[created..created + 4];
    assert!(day_of_creation.starts_with("20"), "{shown}");
    assert_eq!(
        heading.find("LAST SIGN-IN"),
        times.find("2027-01-15T08:00:00Z")
    );
    let admin = run(&["show", "admin"]).await.stdout;
    let admin = admin.lines().last().expect("a line");
    assert_eq!(
        Some(
            admin
                .split_at(created + 22)
                .1
                .trim_start_matches('-')
                .trim()
        ),
        Some("\"admin\"")
    );
    let deleted = run(&["delete", "bob b"]).await;
    assert_eq!(deleted.stdout, "User 3 (\"bob b\") is deleted.\n");
    audited(&deleted, "user_deleted");
    app.bearer
        .with_token(&bob.token)
        .get("/profile")
        .await
        .expect_detail(401, "User not found.");
    let deleted = run(&["delete", "admin"]).await;
    assert!(
        deleted
            .stdout
            .contains("The next start creates the user admin again.")
    );
    assert_eq!(app.database.count_users().await, 1);
}

async fn create_with_a_link_prints_the_link_and_lists_a_user_without_a_password(setup: TestSetup) {
    let app = setup.with("REGISTRATION", "closed").start().await;
    let create = ["create", "ann", "--link", "--role", "author"];
    let exit = user(&app, &create, "", &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let link = exit.stdout.strip_suffix('\n').expect("one line");
    let token = link.strip_prefix("/set-password#").expect("a link");
    assert!(
        !token.contains('\n') && !exit.stderr.contains(token),
        "{exit:?}"
    );
    for said in [
        "User 2 (\"ann\") is created, with the role author.",
        "Send it with the address of your server before it",
        "SIGN_IN_URL",
        "It is good once, until 20",
        "user_created",
    ] {
        assert!(exit.stderr.contains(said), "{said}: {exit:?}");
    }
    let list = user(&app, &["list", "--role", "author"], "", &[]).await;
    assert!(
        list.stdout.ends_with("\"ann\"  (no password)\n"),
        "{list:?}"
    );
    app.bearer
        .put(
            "/password",
            &serde_json::json!({ "token": token, "password": NEW_PASSWORD }),
        )
        .await
        .expect(200);
    app.try_log_in("ann", NEW_PASSWORD).await.expect(200);

    let whole = [("SIGN_IN_URL", "https://auth.example.org/sign-in")];
    let exit = user(&app, &["create", "bob", "--link"], "", &whole).await;
    let link = "https://auth.example.org/set-password#rgl_";
    assert!(exit.stdout.starts_with(link), "{exit:?}");
    assert!(!exit.stderr.contains("SIGN_IN_URL"), "{exit:?}");
    for (arguments, variables, code, problem) in [
        (
            &["create", "ann", "--link"][..],
            &[][..],
            1,
            "the user \"ann\" exists already",
        ),
        (&["create", "a:b", "--link"], &[], 64, "USERNAME: "),
        (
            &["create", "carl", "--link"],
            &[("NEW_PASSWORD_FILE", "password")],
            64,
            "cannot be used with",
        ),
    ] {
        let exit = user(&app, arguments, "", variables).await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        assert!(
            exit.stderr.contains(problem) && exit.stdout.is_empty(),
            "{exit:?}"
        );
    }
    assert_eq!(app.database.count_users().await, 3);
}

async fn a_filter_by_an_unknown_role_is_an_error_that_lists_the_roles(setup: TestSetup) {
    let app = setup.start().await;
    app.user("ann").await;
    app.database.set_role("ann", "editor").await;
    for role in ["authr", "Author"] {
        let exit = user(&app, &["list", "--role", role], "", &[]).await;
        assert_eq!((exit.code, &*exit.stdout), (Some(64), ""), "{exit:?}");
        assert!(exit.stderr.starts_with("ROLE: "), "{exit:?}");
    }
    let exit = user(&app, &["list", "--role", "authr"], "", &[]).await;
    assert_eq!(exit.stderr, "ROLE: must be one of: user, author, admin\n");
    // The list can be filtered by a role that is no longer in `EXTRA_ROLES` but that a user still has.
    let exit = user(&app, &["list", "--role", "editor"], "", &[]).await;
    assert!(
        exit.code == Some(0) && exit.stdout.contains("\"ann\""),
        "{exit:?}"
    );
}

async fn set_role_takes_effect_with_the_next_request(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let ann_asks = app.bearer.with_token(&ann.token);
    ann_asks.get("/admin").await.expect(403);
    let exit = user(&app, &["set-role", "ann", "admin"], "", &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let said = format!(
        "User {} (\"ann\") has the role admin now; it was user.\n",
        ann.id
    );
    assert_eq!(exit.stdout, said);
    let line = exit.stderr.lines().find(|line| line.contains("audit"));
    assert!(
        line.is_some_and(|line| line.contains("ann")),
        "no trace in the log: {exit:?}"
    );
    ann_asks.get("/admin").await.expect(200);
}

async fn reset_password_replaces_the_password(setup: TestSetup) {
    let app = setup.start().await;
    // This puts the old password into the Basic cache. After the reset it must be refused all the same.
    app.basic
        .with_basic("admin", ADMIN_PASSWORD)
        .get("/protected")
        .await
        .expect(200);
    let old = app.bearer.with_token(&app.admin().await.token);
    old.get("/admin").await.expect(200);
    let exit = user(
        &app,
        &["reset-password", "admin"],
        &format!("{NEW_PASSWORD}\n"),
        &[],
    )
    .await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let is_audited = |word| exit.stderr.contains(word);
    assert!(
        is_audited("password_set") && is_audited("operator"),
        "{exit:?}"
    );
    assert!(
        !(exit.stdout + &exit.stderr).contains(NEW_PASSWORD),
        "it is shown"
    );
    app.try_log_in("admin", ADMIN_PASSWORD).await.expect(401);
    app.basic
        .with_basic("admin", ADMIN_PASSWORD)
        .get("/protected")
        .await
        .expect(401);
    old.get("/admin")
        .await
        .expect_detail(401, "Invalid or expired token.");
    let new = e2e::TestUser::log_in(&app.bearer, "admin", NEW_PASSWORD).await;
    app.bearer
        .with_token(&new.token)
        .get("/admin")
        .await
        .expect(200);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), "from a file\n").expect("written");
    let path = file.path().display().to_string();
    let from_file = [("NEW_PASSWORD_FILE", path.as_str())];
    let exit = user(
        &app,
        &["reset-password", "admin"],
        "not this one",
        &from_file,
    )
    .await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    app.try_log_in("admin", "from a file").await.expect(200);
    app.try_log_in("admin", NEW_PASSWORD).await.expect(401);
    assert_eq!(
        app.database.user("admin").await.expect("stored").role,
        "admin"
    );
}

async fn revoke_tokens_ends_them_and_nothing_else(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let exit = user(&app, &["revoke-tokens", "ann"], "", &[]).await;
    let said = format!(
        "Every access token of user {} (\"ann\") is revoked.\n",
        ann.id
    );
    assert_eq!((exit.code, &*exit.stdout), (Some(0), &*said), "{exit:?}");
    assert!(
        exit.stderr.contains("tokens_revoked") && exit.stderr.contains("operator"),
        "{exit:?}"
    );
    let old = app.bearer.with_token(&ann.token).get("/profile").await;
    old.expect_detail(401, "Invalid or expired token.");
    let new = e2e::TestUser::log_in(&app.bearer, "ann", &ann.password).await;
    app.bearer
        .with_token(&new.token)
        .get("/profile")
        .await
        .expect(200);
}

async fn create_key_prints_a_key_that_works_at_once(setup: TestSetup) {
    let app = setup.start().await;
    let create = ["create-key", "admin", "--name", "first"];
    let exit = user(&app, &create, "", &[]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let key = exit.stdout.strip_suffix('\n').expect("a line");
    assert!(key.len() == 47 && !exit.stderr.contains(key), "{exit:?}");
    assert!(exit.stderr.contains("api_key_created"), "{exit:?}");
    app.bearer.with_token(key).get("/admin").await.expect(200);
    let more = ["--role", "author", "--expires-in", "90days"];
    let exit = user(&app, &[create.as_slice(), &more].concat(), "", &[]).await;
    let key = exit.stdout.trim_end();
    app.bearer.with_token(key).get("/author").await.expect(200);
    app.bearer.with_token(key).get("/admin").await.expect(403);
    let keys = app
        .bearer
        .with_token(key)
        .get("/profile/keys")
        .await
        .expect(200)
        .json();
    assert!(keys["keys"][0]["expires_at"].is_null() && keys["keys"][1]["expires_at"].is_string());
    let long = "x".repeat(101);
    for (arguments, code, message) in [
        (
            &["create-key", "stranger", "--name", "a"][..],
            1,
            "there is no user \"stranger\"",
        ),
        (&["create-key", "admin"], 64, "NAME: is required"),
        (
            &["create-key", "admin", "--name", &long],
            64,
            "API key name must have 1 to 100",
        ),
        (
            &["create-key", "admin", "--name", "a", "--role", "root"],
            64,
            "ROLE: must be one of",
        ),
        (
            &[
                "create-key",
                "admin",
                "--name",
                "a",
                "--expires-in",
                "tomorrow",
            ],
            64,
            "EXPIRES_IN: must be a duration such as 90days or 12h",
        ),
        (
            &["create-key", "admin", "--name", "a", "--expires-in", "0s"],
            64,
            "in the future",
        ),
        (
            &[
                "create-key",
                "admin",
                "--name",
                "a",
                "--expires-in",
                "9000years",
            ],
            64,
            "10000",
        ),
        (
            &["revoke-tokens", "stranger"],
            1,
            "there is no user \"stranger\"",
        ),
    ] {
        let exit = user(&app, arguments, "", &[]).await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        assert!(
            exit.stderr.contains(message) && exit.stdout.is_empty(),
            "{arguments:?}: {exit:?}"
        );
    }
}

/// A refused command: its arguments, standard input, further settings, exit code, and a part of the message.
type Case<'a> = (
    &'a [&'a str],
    &'a str,
    &'a [(&'a str, &'a str)],
    i32,
    &'a str,
);

#[expect(clippy::too_many_lines, reason = "a table of cases")]
async fn invalid_command_is_reported_and_changes_nothing(setup: TestSetup) {
    let app = setup.start().await;
    let before = app.database.user("admin").await;
    let long = "x".repeat(73);
    let cases: &[Case] = &[
        (
            &["set-role", "stranger", "admin"],
            "",
            &[],
            1,
            "there is no user \"stranger\"",
        ),
        (
            &["set-role", "Admin", "user"],
            "",
            &[],
            1,
            "there is no user \"Admin\"",
        ),
        (
            &["set-role", "admin", "root"],
            "",
            &[],
            64,
            "ROLE: must be one of: user, author, admin",
        ),
        (
            &["set-role", "admin", "Admin"],
            "",
            &[],
            64,
            "ROLE: must be one of: user, author, admin",
        ),
        (
            &["set-role", "admin", ""],
            "",
            &[],
            64,
            "ROLE: must be one of: user, author, admin",
        ),
        (&["set-role", "admin"], "", &[], 64, "ROLE: is required"),
        (
            &["show", "stranger"],
            "",
            &[],
            1,
            "there is no user \"stranger\"",
        ),
        (
            &["delete", "Admin"],
            "",
            &[],
            1,
            "there is no user \"Admin\"",
        ),
        (
            &["disable", "Admin"],
            "",
            &[],
            1,
            "there is no user \"Admin\"",
        ),
        (&["enable"], "", &[], 64, "USERNAME: is required"),
        (
            &["create", "admin"],
            "x",
            &[],
            1,
            "the user \"admin\" exists already",
        ),
        (
            &["create", "a:b"],
            "x",
            &[],
            64,
            "USERNAME: Username must not contain a colon.",
        ),
        (
            &["create", "admin\u{200b}"],
            "x",
            &[],
            64,
            "invisible or unassigned characters",
        ),
        (
            &["create", "ann"],
            "",
            &[],
            64,
            "Password must have at least 1 byte.",
        ),
        (
            &["create", "ann", "--role", "root"],
            "x",
            &[],
            64,
            "must be one of: user, author, admin",
        ),
        (&["create"], "x", &[], 64, "USERNAME: is required"),
        (
            &["create", "ann", NEW_PASSWORD],
            "",
            &[],
            64,
            "no such flag or subcommand",
        ),
        (
            &["reset-password", "stranger"],
            "x",
            &[],
            1,
            "there is no user",
        ),
        (
            &["reset-password", "admin"],
            "",
            &[],
            64,
            "Password must have at least 1 byte.",
        ),
        (
            &["reset-password", "admin"],
            "\n",
            &[],
            64,
            "Password must have at least 1 byte.",
        ),
        (
            &["reset-password", "admin"],
            &long,
            &[],
            64,
            "Password must have at most 72 bytes.",
        ),
        (
            &["reset-password", "admin"],
            "a\0b",
            &[],
            64,
            "Password must not contain NUL.",
        ),
        (
            &["reset-password", "admin"],
            "short",
            &[("PASSWORD_MIN_LENGTH", "8")],
            64,
            "Password must have at least 8 bytes.",
        ),
        (
            &["reset-password", "admin"],
            NEW_PASSWORD,
            &[("NEW_PASSWORD_FILE", "/nowhere/at/all")],
            64,
            "NEW_PASSWORD_FILE: /nowhere/at/all does not exist",
        ),
        (
            &["reset-password", "admin", NEW_PASSWORD],
            "",
            &[],
            64,
            "no such flag or subcommand",
        ),
        (
            &["set-role", "admin", "user"],
            "",
            &[("BCRYPT_COST", "4")],
            64,
            "BCRYPT_COST",
        ),
    ];
    for (arguments, input, settings, code, said) in cases {
        let exit = user(&app, arguments, input, settings).await;
        assert_eq!(exit.code, Some(*code), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.contains(said), "{arguments:?}: {exit:?}");
        assert!(
            !exit.stderr.contains(NEW_PASSWORD),
            "a password is shown: {exit:?}"
        );
        assert_eq!(app.database.user("admin").await, before, "{arguments:?}");
        assert_eq!(app.database.count_users().await, 1, "{arguments:?}");
    }
}

#[tokio::test]
async fn missing_sqlite_file_is_not_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mistyped.db");
    let url = format!("sqlite://{}", file.display());
    let settings = BTreeMap::from([("DATABASE_URL".to_owned(), url)]);
    let arguments = ["user", "set-role", "admin", "user"];
    let exit = Process::run(
        Program::AuthService,
        &arguments,
        &settings,
        folder.path(),
        "",
    )
    .await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(exit.stderr.contains("there is no database yet"), "{exit:?}");
    assert!(!file.exists());
}

#[tokio::test]
async fn stale_initial_admin_password_is_mentioned_and_removed_at_the_next_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let addresses = ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()));
    let settings = BTreeMap::from(addresses);
    let start = || Process::start(Program::FastHashRolegate, &settings, folder.path());
    let mut process = start().ready().await;
    let file = folder.path().join("data/initial-admin-password");
    assert!(file.exists());
    let bearer = e2e::Api::at(&process.address("bearer"));
    e2e::TestUser::register(&bearer, "ann").await;
    let database = [(
        "DATABASE_URL".to_owned(),
        "sqlite://data/rolegate.db".to_owned(),
    )]
    .into();
    let reset = async |name: &str| {
        let arguments = ["user", "reset-password", name];
        let program = Program::FastHashAuthService;
        let exit = Process::run(program, &arguments, &database, folder.path(), NEW_PASSWORD).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        exit.stdout
    };
    let of_somebody = reset("ann").await;
    assert!(
        !of_somebody.contains("initial-admin-password"),
        "{of_somebody}"
    );
    let of_admin = reset("admin").await;
    assert!(
        of_admin.contains("data/initial-admin-password contains an older password"),
        "{of_admin}"
    );
    process.kill().await;
    start().ready().await;
    assert!(!file.exists(), "it was promised to go");
    assert!(!reset("admin").await.contains("initial-admin-password"));
}
