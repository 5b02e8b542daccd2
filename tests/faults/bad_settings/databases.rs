//! Checks that programs refuse invalid database URLs, and databases that belong to another program.

use super::{
    AuthService, PostsService, Program, QUIET, Rolegate, Settings, expect_each_refused,
    expect_rejected, good,
};
use e2e::{Process, Store, TestDatabase, TestSetup};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use std::{fs, os::unix::fs::symlink, path::Path};

#[tokio::test]
async fn invalid_database_url_is_rejected() {
    let owners = &[AuthService, Rolegate][..];
    expect_each_refused(&[
        (owners, "DATABASE_URL", "hunter2"),
        (owners, "DATABASE_URL", "mysql://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "postgres:/hunter2@localhost/users"),
        (owners, "DATABASE_URL", "POSTGRES://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost:port/users"),
        (owners, "DATABASE_URL", "sqlite::memory:"),
        (owners, "DATABASE_URL", "sqlite://"),
        (owners, "DATABASE_URL", "sqlite://users.db?mode=memory"),
        (owners, "DATABASE_URL", "/var/lib/users.db"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost/users?sslmode=on"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost/users?sslmod=require"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost/users?sslmode=verify-ca"),
        (
            owners,
            "DATABASE_URL",
            "postgres://root:hunter2@localhost/users?sslmode=verify-full&sslrootcert=/nowhere/ca.pem",
        ),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost,/users"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost:1,localhost:port/users"),
        (owners, "DATABASE_URL", "postgres://localhost,hunter2/users?target_session_attrs=any"),
        (&[PostsService], "DATABASE_URL", "postgres://localhost/posts?host=hunter2,localhost"),
        (&[PostsService], "DATABASE_URL", "postgres://localhost/posts?sslmode=hunter2"),
        (&[Rolegate], "POSTS_DATABASE_URL", "postgres://localhost/posts?hunter2"),
        (&[PostsService], "DATABASE_URL", "mysql://root:hunter2@localhost/posts"),
        (&[Rolegate], "POSTS_DATABASE_URL", "hunter2"),
    ])
    .await;
}

#[tokio::test]
async fn unencoded_password_is_named_and_no_part_of_it_is_shown() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for password in [
        "12/hunter2",
        "12#hunter2",
        "12?hunter2",
        "12?hunter2=",
        "a/hunter2",
        "a@hunter2/b",
        "a@hunter2?b",
        "12,13/hunter2",
    ] {
        let url = format!("postgres://root:{password}@localhost/users");
        for (program, setting) in KEEPERS {
            let mut settings = good(program, &database);
            settings.insert(setting.to_owned(), url.clone());
            let line = expect_rejected(program, &settings, folder.path(), setting).await;
            assert!(line.contains("percent-encode the password"), "{line}");
            assert!(!line.contains("12") && !line.contains("root"), "{line}");
        }
    }
}

#[tokio::test]
async fn database_that_is_not_utf_8_is_rejected() {
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let database = TestDatabase::create(Store::Postgres).await;
        let url = database.url();
        recreate(&url, encoding).await;
        let why = format!("has the encoding {encoding}");
        for (program, setting) in KEEPERS {
            expect_no_store(program, setting, &url, &why).await;
        }
    }
}

/// Replaces the database at this URL by an empty one with this encoding.
async fn recreate(url: &str, encoding: &str) {
    let (_, name) = url.rsplit_once('/').expect("a database");
    let server = e2e::postgres::url().as_str();
    let mut server = PgConnection::connect(server).await.expect("connected");
    for sql in [
        format!("DROP DATABASE {name}"),
        format!(
            "CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}' \
             LC_COLLATE 'C' LC_CTYPE 'C'"
        ),
    ] {
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut server)
            .await
            .expect("executed");
    }
}

#[tokio::test]
async fn posts_service_requires_exactly_one_source_of_its_database_url() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(PostsService, &database);
    settings.insert("DATABASE_URL_FILE".to_owned(), "/nowhere/at/all".to_owned());
    expect_rejected(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    settings.remove("DATABASE_URL");
    expect_rejected(PostsService, &settings, folder.path(), "DATABASE_URL_FILE").await;
    settings.remove("DATABASE_URL_FILE");
    expect_rejected(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    let mut settings = good(Rolegate, &database);
    settings.insert(
        "POSTS_DATABASE_URL_FILE".to_owned(),
        "/nowhere/at/all".to_owned(),
    );
    expect_rejected(
        Rolegate,
        &settings,
        folder.path(),
        "POSTS_DATABASE_URL_FILE",
    )
    .await;
}

/// The setting of the database URL for each store of each program.
const KEEPERS: [(Program, &str); 4] = [
    (AuthService, "DATABASE_URL"),
    (PostsService, "DATABASE_URL"),
    (Rolegate, "DATABASE_URL"),
    (Rolegate, "POSTS_DATABASE_URL"),
];

/// Asserts that the URL is rejected with this reason.
async fn expect_no_store(program: Program, setting: &str, url: &str, why: &str) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(program, &database);
    settings
        .extend([QUIET, (setting, url)].map(|(name, value)| (name.to_owned(), value.to_owned())));
    let line = expect_rejected(program, &settings, folder.path(), setting).await;
    assert!(
        line.contains(why),
        "{program:?} does not say {why:?}: {line}"
    );
}

fn sqlite(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

#[tokio::test]
async fn path_that_is_no_database_file_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, nowhere) = (
        folder.path().join("text"),
        folder.path().join("nowhere/users.db"),
    );
    fs::write(&text, "this is no database, whatever its name says").expect("written");
    fs::create_dir(folder.path().join("folder")).expect("made");
    for (path, why) in [
        (
            &*folder.path().join("folder"),
            "is a folder; name a file in it",
        ),
        (&nowhere, "cannot be created: there is no folder"),
        (&text.join("users.db"), "cannot be opened"),
        (&folder.path().join("x".repeat(300)), "cannot be opened"),
        (Path::new("/proc/users.db"), "cannot be opened or created"),
        (Path::new("/dev/null"), "is not a file"),
        (&text, "is not an SQLite database"),
    ] {
        for (program, setting) in KEEPERS {
            expect_no_store(program, setting, &sqlite(path), why).await;
        }
    }
    let text = fs::read_to_string(text).expect("it is there");
    assert_eq!(text, "this is no database, whatever its name says");
}

/// Creates the tables of posts in this database.
async fn store_of_posts(database: &TestDatabase) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(PostsService, database);
    settings.insert("DATABASE_URL".to_owned(), database.url());
    let process = Process::start(PostsService, &settings, folder.path())
        .ready()
        .await;
    process.terminate();
    assert_eq!(process.exit().await.code, Some(0));
}

async fn store_of_users(database: &TestDatabase, store: Store) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = TestSetup::split(store).auth_settings(&database.url());
    let exit = Process::run(AuthService, &["migrate"], &settings, folder.path(), "").await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
}

#[tokio::test]
async fn database_file_of_another_service_is_rejected_by_owner() {
    let (posts, users) = (
        TestDatabase::create(Store::Sqlite).await,
        TestDatabase::create(Store::Sqlite).await,
    );
    store_of_posts(&posts).await;
    store_of_users(&users, Store::Sqlite).await;
    for (program, setting) in KEEPERS {
        let is_of_users = (program, setting) == (AuthService, "DATABASE_URL")
            || (program, setting) == (Rolegate, "DATABASE_URL");
        let (url, why) = if is_of_users {
            (posts.url(), "first migration of its owner is \"post\"")
        } else {
            (users.url(), "first migration of its owner is \"user\"")
        };
        expect_no_store(program, setting, &url, why).await;
    }
}

#[tokio::test]
async fn database_file_of_another_program_is_rejected_unchanged() {
    let database = TestDatabase::create(Store::Sqlite).await;
    database.execute("CREATE TABLE bookmark (url TEXT)").await;
    let before = fs::read(database.file()).expect("it is there");
    for (program, setting) in KEEPERS {
        expect_no_store(
            program,
            setting,
            &database.url(),
            "it has tables of another program",
        )
        .await;
    }
    assert_eq!(fs::read(database.file()).expect("it is there"), before);
}

#[tokio::test]
async fn postgres_schema_of_another_owner_is_rejected_unchanged() {
    let database = TestDatabase::create(Store::Postgres).await;
    store_of_posts(&database).await;
    let in_posts = format!("{}?options=-c%20search_path%3Dposts", database.url());
    let foreign = TestDatabase::create(Store::Postgres).await;
    foreign
        .execute(
            "CREATE TABLE \"user\" (name text); CREATE SCHEMA posts; CREATE TABLE posts.post ()",
        )
        .await;
    let (of_users, of_posts) = ("created its table \"user\"", "created its table \"post\"");
    for (program, setting) in [(AuthService, "DATABASE_URL"), (Rolegate, "DATABASE_URL")] {
        expect_no_store(
            program,
            setting,
            &in_posts,
            "first migration of its owner is \"post\"",
        )
        .await;
        expect_no_store(program, setting, &foreign.url(), of_users).await;
    }
    for (program, setting) in [
        (PostsService, "DATABASE_URL"),
        (Rolegate, "POSTS_DATABASE_URL"),
    ] {
        expect_no_store(program, setting, &foreign.url(), of_posts).await;
    }
    // No migration table was created: otherwise this would fail.
    foreign
        .execute("CREATE TABLE _sqlx_migrations (); CREATE TABLE posts._sqlx_migrations ()")
        .await;
}

#[tokio::test]
async fn postgres_schema_with_tables_of_another_program_is_refused_unless_it_is_to_be_shared() {
    let database = TestDatabase::create(Store::Postgres).await;
    // The table of an extension must not count as a table of another program.
    database
        .execute(
            "CREATE TABLE of_extension (i int); ALTER EXTENSION plpgsql ADD TABLE of_extension",
        )
        .await;
    let nobodys = TestDatabase::create(Store::Postgres).await;
    nobodys
        .execute(
            "CREATE TABLE of_extension (i int); ALTER EXTENSION plpgsql ADD TABLE of_extension",
        )
        .await;
    database
        .execute(
            "CREATE TABLE bookmark (url text); CREATE SCHEMA posts; CREATE TABLE posts.draft ()",
        )
        .await;
    let why = "the schema has tables of another program; use a database or a schema of its own, or set \
               SHARE_DATABASE=on";
    for (program, setting) in [
        (AuthService, "DATABASE_URL"),
        (PostsService, "DATABASE_URL"),
        (Rolegate, "DATABASE_URL"),
        (Rolegate, "POSTS_DATABASE_URL"),
    ] {
        expect_no_store(program, setting, &database.url(), why).await;
    }
    // No migration table was created: otherwise this would fail.
    database
        .execute(
            "CREATE TABLE _sqlx_migrations (); CREATE TABLE posts._sqlx_migrations ();
            DROP TABLE _sqlx_migrations; DROP TABLE posts._sqlx_migrations",
        )
        .await;
    let folder = tempfile::tempdir().expect("a folder");
    let run = async |program, database: &TestDatabase, shared: &str, arguments: &[&str]| {
        let mut settings = good(program, database);
        settings.insert("DATABASE_URL".to_owned(), database.url());
        settings.insert("SHARE_DATABASE".to_owned(), shared.to_owned());
        Process::run(program, arguments, &settings, folder.path(), "").await
    };
    for program in [AuthService, PostsService] {
        let refused = run(program, &database, "off", &["migrate"]).await;
        assert_eq!(refused.code, Some(64), "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
        let doctor = run(program, &database, "off", &["doctor"]).await;
        assert!(
            doctor.code == Some(1) && doctor.stdout.contains(why),
            "{doctor:?}"
        );
        let own = run(program, &nobodys, "off", &["migrate"]).await;
        assert_eq!(own.code, Some(0), "{own:?}");
        // `on` is needed only for the first migration, so `off` succeeds afterwards.
        for shared in ["on", "off"] {
            let exit = run(program, &database, shared, &["migrate"]).await;
            assert_eq!(exit.code, Some(0), "{program:?} {shared}: {exit:?}");
        }
    }
    assert_eq!(database.count_rows("SELECT url FROM bookmark").await, 0);
    let file = TestDatabase::create(Store::Sqlite).await;
    for program in [AuthService, PostsService, Rolegate] {
        let mut settings = good(program, &file);
        settings.insert("SHARE_DATABASE".to_owned(), "on".to_owned());
        let line = expect_rejected(program, &settings, folder.path(), "SHARE_DATABASE").await;
        assert!(line.contains("requires PostgreSQL"), "{line}");
    }
}

#[tokio::test]
async fn users_and_posts_in_one_file_are_rejected_before_anything_is_created() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("a")).expect("made");
    symlink("a", at("linked")).expect("linked");
    symlink("a/users.db", at("link.db")).expect("linked");
    let users = ("DATABASE_URL", sqlite(&at("a/users.db")));
    let posts = |path: &str| ("POSTS_DATABASE_URL", sqlite(&at(path)));
    let in_data_dir = |name: &str| format!("sqlite://{}", at(&format!("data/{name}")).display());
    for (given, blamed) in [
        (
            vec![users.clone(), posts("a/users.db")],
            "POSTS_DATABASE_URL",
        ),
        (
            vec![users.clone(), posts("linked/../a//users.db")],
            "POSTS_DATABASE_URL",
        ),
        (vec![users.clone(), posts("link.db")], "POSTS_DATABASE_URL"),
        (
            vec![
                users,
                ("POSTS_DATABASE_URL", "sqlite://a/users.db".to_owned()),
            ],
            "POSTS_DATABASE_URL",
        ),
        (
            vec![("POSTS_DATABASE_URL", in_data_dir("rolegate.db"))],
            "POSTS_DATABASE_URL",
        ),
        (
            vec![("DATABASE_URL", in_data_dir("posts.db"))],
            "DATABASE_URL",
        ),
    ] {
        let mut settings: Settings = good(Rolegate, &TestDatabase::create(Store::Sqlite).await);
        settings.remove("DATABASE_URL");
        settings.extend(
            given
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone())),
        );
        let line = expect_rejected(Rolegate, &settings, folder.path(), blamed).await;
        assert!(line.contains("name another file"), "{line}");
        assert!(!at("data").exists(), "a folder was made: {given:?}");
        assert_eq!(
            fs::read_dir(at("a")).expect("a folder").count(),
            0,
            "made: {given:?}"
        );
    }
}
