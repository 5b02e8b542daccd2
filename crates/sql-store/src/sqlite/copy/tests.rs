use super::{DatabaseCopy, LockedFolder, connect_read_only, remove_abandoned};
use crate::sqlite::Replacement;
use sqlx::{
    ConnectOptions, Connection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode},
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, symlink},
    },
    path::Path,
};

async fn open(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true);
    options
        .journal_mode(SqliteJournalMode::Wal)
        .connect()
        .await
        .expect("opened")
}

/// Creates a database that contains this word. The database stays open.
async fn database(file: &Path, word: &str) -> SqliteConnection {
    let mut connection = open(file).await;
    for sql in [
        "CREATE TABLE word (text TEXT)",
        "INSERT INTO word VALUES ($1)",
    ] {
        sqlx::query(sql)
            .bind(word)
            .execute(&mut connection)
            .await
            .expect(sql);
    }
    connection
}

async fn word(file: &Path) -> String {
    let mut connection = connect_read_only(file).await.expect("opened");
    let words = sqlx::query_scalar("SELECT text FROM word")
        .fetch_one(&mut connection)
        .await;
    connection.close().await.expect("closed");
    words.expect("a word")
}

#[tokio::test]
async fn a_copy_of_an_open_database_is_whole_private_and_never_overwrites() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let _open = database(&at("a.db"), "first").await;
    let copy = DatabaseCopy::create(&at("a.db"), &at("b.db"))
        .await
        .expect("copied");
    assert!(!at("b.db").exists());
    copy.persist_new(&at("b.db")).expect("named");
    assert_eq!(word(&at("b.db")).await, "first");
    assert_eq!(at("b.db").metadata().expect("there").mode() & 0o777, 0o600);
    let again = DatabaseCopy::create(&at("a.db"), &at("b.db"))
        .await
        .expect("copied");
    again.persist_new(&at("b.db")).expect_err("there is one");
    let odd = at("x").with_file_name(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&odd).expect("created");
    DatabaseCopy::create(&at("a.db"), &odd.join("c.db"))
        .await
        .expect_err("not UTF-8");
    fs::remove_dir(&odd).expect("empty");
    let files = fs::read_dir(folder.path()).expect("listed").count();
    assert_eq!(files, 4, "a.db, its log and index, and b.db");
}

#[tokio::test]
async fn a_damaged_database_is_not_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let mut connection = database(&at("a.db"), "first").await;
    sqlx::query("CREATE INDEX by_text ON word (text)")
        .execute(&mut connection)
        .await
        .expect("made");
    connection.close().await.expect("closed");
    let mut bytes = fs::read(at("a.db")).expect("read");
    // The last page is the index. This change makes its only entry lead to no row.
    let place = bytes
        .windows(5)
        .rposition(|it| it == b"first")
        .expect("the entry");
    bytes[place..place + 5].copy_from_slice(b"other");
    fs::write(at("a.db"), bytes).expect("written");
    let error = DatabaseCopy::create(&at("a.db"), &at("b.db"))
        .await
        .expect_err("damaged");
    assert!(error.to_string().contains("a.db is damaged: "), "{error}");
    fs::write(at("a.db"), "no database").expect("written");
    DatabaseCopy::create(&at("a.db"), &at("b.db"))
        .await
        .expect_err("no database");
    // Nothing is left beside a.db, except for the log and the index of the connection that read it.
    for file in fs::read_dir(folder.path()).expect("listed") {
        let name = file.expect("a file").file_name();
        assert!(
            name.to_string_lossy().starts_with("a.db"),
            "{name:?} is left"
        );
    }
}

#[tokio::test]
async fn a_database_is_replaced_with_its_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    database(&at("new.db"), "new")
        .await
        .close()
        .await
        .expect("closed");
    let replace = async |name: &str| {
        let replacement = Replacement::begin(&at(name)).await.expect("unused");
        let copy = replacement.prepare(&at("new.db")).await.expect("copied");
        replacement.finish(copy).await.expect("replaced");
    };

    fs::write(at("old.db-wal"), "the log of a removed database").expect("written");
    replace("old.db").await;
    assert!(!at("old.db-wal").exists());
    assert_eq!(word(&at("old.db")).await, "new");

    for content in ["no database, whatever its name says", ""] {
        fs::write(at("old.db"), content).expect("written");
        replace("old.db").await;
        assert_eq!(word(&at("old.db")).await, "new");
    }

    fs::create_dir(at("other-disk")).expect("created");
    database(&at("other-disk/old.db"), "old")
        .await
        .close()
        .await
        .expect("closed");
    symlink("other-disk/old.db", at("link.db")).expect("linked");
    replace("link.db").await;
    assert!(at("link.db").is_symlink());
    assert_eq!(word(&at("other-disk/old.db")).await, "new");
}

#[tokio::test]
async fn a_copy_removes_those_of_killed_processes_and_none_that_is_in_use() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let _open = database(&at("a.db"), "first").await;
    // A running rolegate locks its DATA_DIR like this.
    let served = File::open(folder.path()).expect("opened");
    served.lock_shared().expect("locked");
    for name in ["empty", "full"] {
        fs::create_dir(at(&format!(".rolegate-copy-{name}.partial"))).expect("created");
    }
    fs::write(at(".rolegate-copy-full.partial/copy"), "hashes").expect("written");
    let copies = || {
        let names = fs::read_dir(folder.path()).expect("listed");
        let names = names.map(|entry| entry.expect("read").file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with(".rolegate-copy-"))
            .count()
    };
    let one = DatabaseCopy::create(&at("a.db"), &at("b.db"))
        .await
        .expect("copied");
    assert_eq!(copies(), 1, "its own");
    let other = DatabaseCopy::create(&at("a.db"), &at("c.db"))
        .await
        .expect("copied");
    assert_eq!(copies(), 2, "both are in use");
    drop(served);
    File::open(folder.path())
        .and_then(|it| Ok(it.try_lock()?))
        .expect("copies do not lock it");
    for (copy, name) in [(one, "b.db"), (other, "c.db")] {
        copy.persist_new(&at(name)).expect("named");
        assert_eq!(word(&at(name)).await, "first");
    }
    assert_eq!(copies(), 0);
}

#[test]
fn folders_of_copies_that_begin_at_once_stay() {
    let parent = tempfile::tempdir().expect("a folder");
    let copy = || {
        for _ in 0..500 {
            remove_abandoned(parent.path()).expect("listed");
            let own = LockedFolder::create(parent.path()).expect("created");
            std::thread::yield_now();
            fs::write(own.folder.path().join("copy"), "").expect("it is there");
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(copy);
        }
    });
}
