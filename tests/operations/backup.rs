//! Tests `rolegate backup` and `rolegate restore` with users and posts in SQLite files.

mod ended;
mod interrupted;

use e2e::{Api, Exit, Process, Program, Store, TestDatabase, TestUser};
use serde_json::json;
use sqlx::{ConnectOptions as _, Connection as _, sqlite::SqliteConnectOptions};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt},
    path::Path,
    process::Command as Shell,
};
use tempfile::TempDir;

/// A `rolegate` with the default databases, in a folder of its own.
struct Own {
    folder: TempDir,
    settings: BTreeMap<String, String>,
}

impl Own {
    fn new() -> Self {
        let addresses = ["BEARER", "BASIC", "FORWARD_AUTH", "AUTH", "POSTS", "OPS"]
            .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()));
        let settings = BTreeMap::from(addresses);
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            settings,
        }
    }

    async fn start(&self) -> (Process, Api) {
        let process = Process::start(Program::FastHashRolegate, &self.settings, self.path());
        let process = process.ready().await;
        let bearer = Api::at(&process.address("bearer"));
        (process, bearer)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn run(&self, arguments: &[&str]) -> Exit {
        let program = Program::FastHashRolegate;
        Process::run(program, arguments, &self.settings, self.path(), "").await
    }

    async fn expect(&self, arguments: &[&str], code: i32, text: &str) {
        let exit = self.run(arguments).await;
        assert_eq!(exit.code, Some(code), "{arguments:?}: {exit:?}");
        let said = if code == 0 {
            &exit.stdout
        } else {
            &exit.stderr
        };
        assert!(said.contains(text), "{arguments:?}: {exit:?}");
        assert_eq!(said.lines().count(), 1, "{exit:?}");
    }

    fn admin_password(&self) -> String {
        let file = self.path().join("data/initial-admin-password");
        fs::read_to_string(file)
            .expect("generated")
            .trim_end()
            .to_owned()
    }
}

/// Returns a stopped `rolegate` with a post by `ann`, and with a backup in `a.db`.
async fn stopped_with_backup() -> Own {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    add_author(&own, &bearer, "ann").await;
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    process.terminate();
    process.exit().await;
    own
}

/// Registers a user, gives them the role author, and writes a post as that user.
async fn add_author(own: &Own, bearer: &Api, name: &str) -> TestUser {
    let admin = TestUser::log_in(bearer, "admin", &own.admin_password()).await;
    let user = TestUser::register(bearer, name).await;
    let path = format!("/users/{}/role", user.id);
    bearer
        .with_token(&admin.token)
        .put(&path, &json!({ "role": "author" }))
        .await
        .expect(200);
    let post = json!({ "title": format!("By {name}"), "content": "Text" });
    bearer
        .with_token(&user.token)
        .post("/posts", &post)
        .await
        .expect(201);
    user
}

/// Returns the titles of all posts.
async fn titles(bearer: &Api) -> Vec<String> {
    let posts = bearer.get("/posts").await.expect(200).json();
    let posts = posts["posts"].as_array().expect("a list").iter();
    posts
        .map(|post| post["title"].as_str().expect("text").to_owned())
        .collect()
}

/// Runs a statement on a database file that no program has open.
async fn run_sql(file: &Path, sql: &'static str) {
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.expect("opened");
    sqlx::query(sql)
        .execute(&mut connection)
        .await
        .expect("done");
    connection.close().await.expect("closed");
}

fn is_private(path: &Path) -> bool {
    path.metadata().expect("there").mode() & 0o777 == 0o600
}

#[tokio::test]
async fn a_backup_of_a_running_service_restores_users_and_posts() {
    let own = Own::new();
    let (process, bearer) = own.start().await;
    let ann = add_author(&own, &bearer, "ann").await;
    own.expect(
        &["backup", "a.db"],
        0,
        "users are in a.db, the posts in a.db.posts",
    )
    .await;
    let [users, posts] = ["a.db", "a.db.posts"].map(|name| own.path().join(name));
    assert!(is_private(&users) && is_private(&posts));
    let before = fs::read(&users).expect("read");
    own.expect(
        &["backup", "a.db"],
        64,
        "FILE: a.db exists already; name a new file",
    )
    .await;
    assert_eq!(fs::read(&users).expect("read"), before);
    add_author(&own, &bearer, "bob").await;

    let restore = ["restore", "a.db"];
    own.expect(
        &restore,
        64,
        "DATA_DIR: ./data/rolegate.db exists; --replace",
    )
    .await;
    let replace = ["restore", "a.db", "--replace"];
    own.expect(
        &replace,
        1,
        "./data/rolegate.db is in use; stop the program",
    )
    .await;
    assert_eq!(titles(&bearer).await, ["By ann", "By bob"]);

    process.terminate();
    assert_eq!(process.exit().await.code, Some(0));
    own.expect(&restore, 64, "exists; --replace replaces it")
        .await;
    let mode = |mode| {
        let data = own.path().join("data");
        fs::set_permissions(data, PermissionsExt::from_mode(mode)).expect("set");
    };
    mode(0o777);
    own.expect(&replace, 64, "DATA_DIR: others may write to ./data")
        .await;
    mode(0o700);
    own.expect(&replace, 0, "users are in ./data/rolegate.db")
        .await;
    let (process, bearer) = own.start().await;
    assert_eq!(titles(&bearer).await, ["By ann"]);
    bearer
        .with_token(&ann.token)
        .get("/author")
        .await
        .expect_detail(401, "Invalid or expired token.");
    let ann_again = TestUser::log_in(&bearer, "ann", &ann.password).await;
    bearer
        .with_token(&ann_again.token)
        .get("/author")
        .await
        .expect(200);
    let bob = json!({ "username": "bob", "password": "password of bob" });
    bearer.post("/login", &bob).await.expect(401);
    drop(process);

    // Restores into another deployment, whose data folder does not exist yet.
    let other = Own::new();
    let from = users.display().to_string();
    other
        .expect(&["restore", &from], 0, "Both were checked.")
        .await;
    assert!(is_private(&other.path().join("data/rolegate.db")));
    let (_process, bearer) = other.start().await;
    assert_eq!(titles(&bearer).await, ["By ann"]);
    TestUser::log_in(&bearer, "ann", &ann.password).await;
    TestUser::log_in(&bearer, "admin", &own.admin_password()).await;
}

#[tokio::test]
async fn a_service_that_was_killed_is_backed_up_and_replaced_with_its_log() {
    let own = Own::new();
    let (mut process, bearer) = own.start().await;
    add_author(&own, &bearer, "ann").await;
    process.kill().await;
    let log = own.path().join("data/rolegate.db-wal");
    assert!(
        log.metadata().is_ok_and(|log| log.len() > 0),
        "nothing to lose"
    );
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    own.expect(&["restore", "a.db", "--replace"], 0, "Both were checked.")
        .await;
    let (_process, bearer) = own.start().await;
    assert_eq!(titles(&bearer).await, ["By ann"]);
}

#[tokio::test]
async fn a_damaged_or_foreign_backup_changes_nothing() {
    let own = stopped_with_backup().await;
    let at = |name: &str| own.path().join(name);
    let copy = |from: &str, to: &str| {
        fs::copy(at(from), at(to)).expect("copied");
    };
    let cut = |name: &str| {
        let size = at(name).metadata().expect("there").len();
        let file = fs::OpenOptions::new()
            .write(true)
            .open(at(name))
            .expect("opened");
        file.set_len(size / 2).expect("cut");
    };
    for name in ["cut.db", "swapped.db", "half.db", "alone.db"] {
        copy("a.db", name);
        copy("a.db.posts", &format!("{name}.posts"));
    }
    cut("cut.db");
    cut("half.db.posts");
    copy("a.db.posts", "swapped.db");
    fs::remove_file(at("alone.db.posts")).expect("removed");
    fs::write(at("text.db"), "no database, whatever its name says").expect("written");
    let before = fs::read(at("data/rolegate.db")).expect("read");
    for (file, code, text) in [
        ("cut.db", 1, "database disk image is malformed"),
        ("half.db", 1, "database disk image is malformed"),
        (
            "swapped.db",
            64,
            "FILE: SQLite in swapped.db is not a database of auth-service",
        ),
        (
            "alone.db",
            64,
            "FILE: SQLite in alone.db.posts does not exist, or is empty",
        ),
        ("text.db", 64, "FILE: text.db is not an SQLite database"),
        (
            "missing.db",
            64,
            "FILE: SQLite in missing.db does not exist, or is empty",
        ),
        ("data", 64, "FILE: data is a folder; name a file in it"),
    ] {
        own.expect(&["restore", "--replace", file], code, text)
            .await;
        assert_eq!(
            fs::read(at("data/rolegate.db")).expect("read"),
            before,
            "{file}"
        );
    }
    let (_process, bearer) = own.start().await;
    assert_eq!(titles(&bearer).await, ["By ann"]);
}

#[tokio::test]
async fn backup_and_restore_name_the_argument_or_the_setting_that_is_wrong() {
    let mut own = Own::new();
    own.expect(&["backup"], 64, "FILE: is required").await;
    own.expect(&["restore"], 64, "FILE: is required").await;
    let missing = "DATA_DIR: ./data/rolegate.db cannot be created: there is no folder ./data";
    own.expect(&["backup", "a.db"], 64, missing).await;
    assert!(!own.path().join("data").exists(), "backup creates nothing");
    own.expect(
        &["backup", "no/where/a.db"],
        64,
        "FILE: no/where/a.db cannot be created",
    )
    .await;
    own.expect(&["backup", "."], 64, "FILE: . is a folder")
        .await;
    let database = TestDatabase::create(Store::Postgres).await;
    own.settings
        .insert("DATABASE_URL".to_owned(), database.url());
    for command in ["backup", "restore"] {
        let exit = own.run(&[command, "a.db"]).await;
        assert_eq!(exit.code, Some(64), "{exit:?}");
        assert!(
            exit.stderr.starts_with("DATABASE_URL: PostgreSQL at "),
            "{exit:?}"
        );
        assert!(exit.stderr.contains("pg_dump"), "{exit:?}");
    }
}

#[tokio::test]
async fn a_backup_while_users_register_is_whole() {
    let own = Own::new();
    let (_process, bearer) = own.start().await;
    let registering = async {
        for number in 0.. {
            TestUser::register(&bearer, &format!("user{number}")).await;
        }
    };
    let backing_up = async {
        for number in 0..5 {
            let name = format!("{number}.db");
            own.expect(&["backup", &name], 0, "Both were checked.")
                .await;
        }
    };
    tokio::select! { () = registering => {}, () = backing_up => {} }
    let mut counts = Vec::new();
    for number in 0..5 {
        let other = Own::new();
        let from = own
            .path()
            .join(format!("{number}.db"))
            .display()
            .to_string();
        other
            .expect(&["restore", &from], 0, "Both were checked.")
            .await;
        let list = other.run(&["user", "list"]).await;
        counts.push(list.stdout.lines().count());
    }
    assert!(counts.is_sorted(), "{counts:?}");
    assert!(
        counts[0] < counts[4],
        "no registration meanwhile: {counts:?}"
    );
}

/// Opens the files with the SQLite of `python3`, which is independent of ours. Without `python3`, the test passes.
#[tokio::test]
async fn the_files_of_a_backup_are_ordinary_databases() {
    let own = Own::new();
    let (_process, bearer) = own.start().await;
    add_author(&own, &bearer, "ann").await;
    own.expect(&["backup", "a.db"], 0, "Both were checked.")
        .await;
    let python = "import sqlite3, sys\nfor file in sys.argv[1:]:\n  print(sqlite3.connect(file)\
                  .execute('PRAGMA integrity_check').fetchone()[0])";
    let mut shell = Shell::new("python3");
    shell
        .args(["-c", python, "a.db", "a.db.posts"])
        .current_dir(own.path());
    let Ok(checked) = shell.output() else { return };
    assert_eq!(
        String::from_utf8_lossy(&checked.stdout),
        "ok\nok\n",
        "{checked:?}"
    );
}
