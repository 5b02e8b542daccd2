//! Tests settings whose variables begin with `ROLEGATE_`.

use super::{
    AuthService, Gateway, PostsService, Program, Rolegate, Settings, expect_rejected, good,
    settings_of,
};
use e2e::{Exit, Process, Store, TestDatabase};
use std::{collections::BTreeSet, path::Path};

#[tokio::test]
async fn every_setting_is_read_with_the_prefix_and_refused_there_if_it_is_empty() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, PostsService, Gateway, Rolegate] {
        let database = TestDatabase::create(Store::Sqlite).await;
        // The prefixed settings are all that a start needs. The value without the prefix would be refused if it were
        // read.
        let mut settings: Settings = good(program, &database)
            .into_iter()
            .map(|(name, value)| (format!("ROLEGATE_{name}"), value))
            .collect();
        settings.insert("LAME_DUCK_SECONDS".to_owned(), "hunter2".to_owned());
        settings.insert("ROLEGATE_LAME_DUCK_SECONDS".to_owned(), "0".to_owned());
        settings.insert("TOKIO_WORKER_THREADS".to_owned(), "hunter2".to_owned());
        settings.insert("ROLEGATE_TOKIO_WORKER_THREADS".to_owned(), "2".to_owned());
        let process = Process::start(program, &settings, folder.path())
            .ready()
            .await;
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        for name in settings_of(program, folder.path()).await {
            let is_secret = name.ends_with("_FILE") || name.ends_with("_SECRET");
            if is_secret || ["POSTS", "BCRYPT_COST", "CONSOLE"].contains(&&*name) {
                let mut settings = good(program, &database);
                let prefixed = format!("ROLEGATE_{name}");
                settings.insert(prefixed.clone(), String::new());
                expect_rejected(program, &settings, folder.path(), &prefixed).await;
            }
        }
    }
}

/// Runs `migrate` with these variables and flags, and returns the database files that it has created.
async fn migrate(variables: &[(&str, &str)], flags: &[&str]) -> (Exit, BTreeSet<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::write(folder.path().join("url"), "sqlite://file.db\n");
    text.expect("written");
    let settings = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let arguments = [&["migrate"], flags].concat();
    let settings = settings.collect();
    let exit = Process::run(AuthService, &arguments, &settings, folder.path(), "").await;
    let made = std::fs::read_dir(folder.path())
        .expect("read")
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("text")
        });
    let is_database = |name: &String| Path::new(name).extension().is_some_and(|it| it == "db");
    (exit, made.filter(is_database).collect())
}

#[tokio::test]
async fn a_flag_goes_before_the_prefix_and_that_before_the_name_alone_with_files_alike() {
    let plain = ("DATABASE_URL", "sqlite://plain.db");
    let file = ("DATABASE_URL_FILE", "url");
    let own = ("ROLEGATE_DATABASE_URL", "sqlite://own.db");
    let own_file = ("ROLEGATE_DATABASE_URL_FILE", "url");
    let flag = &["--database-url", "sqlite://flag.db"][..];
    let equals = &["--database-url=sqlite://flag.db"][..];
    let file_flag = &["--database-url-file", "url"][..];
    for (variables, flags, made) in [
        (&[plain][..], &[][..], "plain.db"),
        (&[plain, own], &[], "own.db"),
        (&[file, own], &[], "own.db"),
        (&[plain, own_file], &[], "file.db"),
        (&[plain, file, own], &[], "own.db"),
        (&[plain, own], flag, "flag.db"),
        (&[file, own_file], equals, "flag.db"),
        (&[plain, own], file_flag, "file.db"),
    ] {
        let (exit, found) = migrate(variables, flags).await;
        assert_eq!(exit.code, Some(0), "{variables:?} {flags:?}: {exit:?}");
        let expected = BTreeSet::from([made.to_owned()]);
        assert_eq!(found, expected, "{variables:?} {flags:?}");
    }
    for (variables, flags) in [
        (&[plain, file][..], &[][..]),
        (&[own, own_file, plain], &[]),
        (&[own], &[flag, file_flag].concat()),
    ] {
        let (exit, found) = migrate(variables, flags).await;
        assert_eq!(exit.code, Some(64), "{variables:?} {flags:?}: {exit:?}");
        let problem = "DATABASE_URL: is set, and so is DATABASE_URL_FILE";
        assert!(exit.stderr.starts_with(problem), "{exit:?}");
        assert_eq!(found, BTreeSet::new());
    }
}

async fn start_with(program: Program, variable: &str) -> (Settings, TestDatabase) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let mut settings = good(program, &database);
    settings.insert(variable.to_owned(), "hunter2".to_owned());
    (settings, database)
}

#[tokio::test]
async fn a_name_that_is_almost_a_setting_of_any_program_is_refused_without_its_value() {
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, PostsService, Gateway, Rolegate] {
        for (wrong, right) in [
            ("BCRYPT_COSTS", "BCRYPT_COST"),
            ("TRUSTED_PROXYS", "TRUSTED_PROXIES"),
            ("SIGNING_SECRET_FIEL", "SIGNING_SECRET_FILE"),
            ("DATABASEURL", "DATABASE_URL"),
            ("registration", "REGISTRATION"),
            ("POST", "POSTS"),
        ] {
            let variable = format!("ROLEGATE_{wrong}");
            let (settings, _database) = start_with(program, &variable).await;
            let line = expect_rejected(program, &settings, folder.path(), &variable).await;
            let problem = format!("is not a setting; did you mean ROLEGATE_{right}?");
            assert_eq!(line, format!("{variable}: {problem}\n"));
        }
    }
}

#[tokio::test]
async fn other_names_are_warned_about_once_without_values_and_links_of_kubernetes_are_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut settings, _database) = start_with(AuthService, "ROLEGATE_COLOUR").await;
    for (name, value) in [
        ("ROLEGATE_SOMETHING", "hunter2"),
        ("ROLEGATE_SERVICE_HOST", "10.0.0.1"),
        ("ROLEGATE_SERVICE_PORT_HTTP", "8000"),
        ("ROLEGATE_PORT", "tcp://10.0.0.1:8000"),
        ("ROLEGATE_PORT_8000_TCP_ADDR", "10.0.0.1"),
        ("ROLEGATE_POSTS_PORT", "tcp://10.0.0.1:8000"),
        ("ROLEGATE_TEST_SERVER", "/nowhere"),
        // These names belong to other programs.
        ("ROLEGATE_DATA_DIR", "/nowhere"),
        ("ROLEGATEX", "hunter2"),
    ] {
        settings.insert(name.to_owned(), value.to_owned());
    }
    let process = Process::start(AuthService, &settings, folder.path())
        .ready()
        .await;
    process.terminate();
    let exit = process.exit().await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    let about = |line: &&str| line.contains("no program reads them");
    let lines: Vec<_> = exit.stderr.lines().filter(about).collect();
    let [line] = lines[..] else {
        panic!("{exit:?}")
    };
    let names = "ROLEGATE_COLOUR, ROLEGATE_SOMETHING";
    assert!(line.contains(names) && line.contains("WARN"), "{line}");
    assert_eq!(line.matches("ROLEGATE").count(), 2, "{line}");
    assert!(!exit.stderr.contains("hunter2"), "{exit:?}");
}
