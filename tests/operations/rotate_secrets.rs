//! Tests `auth-service init-secrets --rotate`, and that secrets which do not belong to an existing database are
//! refused.

use e2e::{Api, Exit, Process, Program, Store, TestDatabase, TestUser, eventually};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    time::{Duration, SystemTime},
};

async fn init(folder: &Path, further: &[&str]) -> Exit {
    let folder = folder.display().to_string();
    let arguments = [&["init-secrets", &folder], further].concat();
    Process::run(
        Program::AuthService,
        &arguments,
        &BTreeMap::new(),
        Path::new("/"),
        "",
    )
    .await
}

async fn rotate(folder: &Path, step: &str) {
    let exit = init(folder, &["--rotate", step]).await;
    assert_eq!(exit.code, Some(0), "{step}: {exit:?}");
    for name in fs::read_dir(folder).expect("a folder") {
        let path = name.expect("a file").path();
        let secrets = fs::read_to_string(&path).expect("text");
        let is_shown = secrets.lines().any(|secret| exit.stdout.contains(secret));
        assert!(!is_shown, "{step} shows {}", path.display());
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{step}: {}", path.display());
    }
}

fn lines(folder: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(folder.join(name)).expect(name);
    text.lines().map(str::to_owned).collect()
}

/// Returns when a file was last written.
fn written(path: &Path) -> SystemTime {
    let metadata = fs::metadata(path).expect("there");
    metadata.modified().expect("known")
}

/// Sets the time at which the file seems to have been written.
fn set_written(path: &Path, then: SystemTime) {
    let file = fs::File::options().write(true).open(path).expect("there");
    file.set_modified(then).expect("set");
}

const SIGNING: &str = "signing-secret";
const ACCEPTED: &str = "signing-secrets-accepted";

#[tokio::test]
async fn rotation_replaces_the_signing_secret_in_steps_that_can_be_repeated() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let first = init(folder, &["--accepted-secrets"]).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let old = lines(folder, SIGNING);
    assert_eq!(lines(folder, ACCEPTED), old);
    for _ in 0..2 {
        rotate(folder, "accept").await;
        assert_eq!(lines(folder, SIGNING), old);
        assert_eq!(lines(folder, ACCEPTED)[..1], old[..]);
    }
    let both = lines(folder, ACCEPTED);
    assert!(
        both.len() == 2 && both[0] != both[1],
        "the next secret is another one"
    );
    for _ in 0..2 {
        rotate(folder, "sign").await;
        assert_eq!(lines(folder, SIGNING), both[1..]);
        assert_eq!(lines(folder, ACCEPTED), both);
    }
    // The rotation is not finished, so another `accept` would drop the old secret.
    let early = init(folder, &["--rotate", "accept"]).await;
    assert_eq!(early.code, Some(64), "{early:?}");
    assert!(early.stderr.contains("--rotate drop or back"), "{early:?}");
    assert_eq!(lines(folder, ACCEPTED), both);
    rotate(folder, "back").await;
    assert_eq!(lines(folder, SIGNING), old);
    rotate(folder, "sign").await;
    // Tokens of the old secret are valid for half an hour after the last step. The step's time is the time of the file,
    // which a copy keeps.
    let signed = written(&folder.join(SIGNING));
    for age in [0, 29 * 60, 31 * 60] {
        set_written(&folder.join(SIGNING), signed - Duration::from_secs(age));
        let dropped = init(folder, &["--rotate", "drop"]).await;
        let is_early = age < 30 * 60;
        assert_eq!(
            dropped.code,
            Some(if is_early { 64 } else { 0 }),
            "{age}: {dropped:?}"
        );
        assert_eq!(lines(folder, ACCEPTED).len(), if is_early { 2 } else { 1 });
        let is_explained = dropped.stderr.contains("or end them with --now");
        assert_eq!(is_explained, is_early, "{dropped:?}");
    }
    for _ in 0..2 {
        rotate(folder, "drop").await;
        assert_eq!(lines(folder, SIGNING), both[1..]);
        assert_eq!(lines(folder, ACCEPTED), both[1..]);
    }
    // The next rotation generates another secret.
    rotate(folder, "accept").await;
    assert_eq!(lines(folder, ACCEPTED)[..1], both[1..]);
    rotate(folder, "replace").await;
    let leaked = [old, both].concat();
    assert_eq!(lines(folder, ACCEPTED), lines(folder, SIGNING));
    assert!(
        !leaked.contains(&lines(folder, SIGNING)[0]),
        "the leaked secret is in use"
    );
    // Without `--rotate` nothing changes, and the rotation has left no other files.
    let again = init(folder, &["--accepted-secrets"]).await;
    assert_eq!(again.stdout.matches(" exists\n").count(), 5, "{again:?}");
    assert_eq!(fs::read_dir(folder).expect("a folder").count(), 5);
}

#[tokio::test]
async fn rotation_step_that_is_too_early_or_unknown_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let expect = async |arguments: &[&str], problem: &str| {
        let exit = init(folder, arguments).await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
        assert!(exit.stderr.contains(problem), "{arguments:?}: {exit:?}");
    };
    expect(&["--rotate", "accept"], "signing-secret: does not exist").await;
    assert_eq!(init(folder, &[]).await.code, Some(0));
    expect(
        &["--rotate", "accept"],
        "signing-secrets-accepted: does not exist",
    )
    .await;
    assert_eq!(init(folder, &["--accepted-secrets"]).await.code, Some(0));
    expect(
        &["--rotate", "sign"],
        "next-signing-secret: does not exist; use --rotate accept, and reload, first",
    )
    .await;
    expect(
        &["--rotate", "back"],
        "previous-signing-secret: does not exist; use --rotate sign, and reload, first",
    )
    .await;
    expect(
        &["--rotate", "sign", "--now"],
        "--now: is only for --rotate drop",
    )
    .await;
    expect(&["--now"], "--rotate").await;
    expect(
        &["--rotate", "sideways"],
        "--rotate: must be one of: accept, sign, back, drop, replace",
    )
    .await;
    expect(&["--rotate"], "--rotate").await;
    expect(
        &[
            "--rotate",
            "accept",
            "--postgres",
            "rolegate@db:5432/rolegate",
        ],
        "--rotate: cannot be used with --postgres",
    )
    .await;
    // The new secret has not signed anything yet, so dropping it ends no token.
    rotate(folder, "accept").await;
    rotate(folder, "drop").await;
    // The next secret must not sign while it is missing from the accepted ones.
    rotate(folder, "accept").await;
    let before = lines(folder, SIGNING);
    fs::write(folder.join(ACCEPTED), before[0].clone() + "\n").expect("written");
    expect(&["--rotate", "sign"], "--rotate accept").await;
    assert_eq!(lines(folder, SIGNING), before);
    fs::set_permissions(folder.join(SIGNING), fs::Permissions::from_mode(0o644)).expect("set");
    expect(&["--rotate", "accept"], "others may have read it").await;
}

#[tokio::test]
async fn tokens_of_both_secrets_are_valid_during_a_rotation() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    assert_eq!(init(folder, &["--accepted-secrets"]).await.code, Some(0));
    let file = |name: &str| folder.join(name).display().to_string();
    let settings = |pairs: &[(&str, String)]| -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect()
    };
    let anywhere = || "127.0.0.1:0".to_owned();
    let of_auth = settings(&[
        ("DATABASE_URL", database.url()),
        ("SIGNING_SECRET_FILE", file(SIGNING)),
        ("SIGNING_SECRETS_ACCEPTED_FILE", file(ACCEPTED)),
        ("DEFAULT_ADMIN_PASSWORD_FILE", file("admin-password")),
        ("AUTH_LISTEN_ADDR", "127.0.0.0/8:0".to_owned()),
        ("OPS_LISTEN_ADDR", anywhere()),
    ]);
    let auth = Process::start(Program::FastHashAuthService, &of_auth, folder)
        .ready()
        .await;
    let of_gateway = settings(&[
        ("AUTH_SERVICE_URL", auth.address("grpc")),
        ("BEARER_LISTEN_ADDR", anywhere()),
        ("BASIC_LISTEN_ADDR", "off".to_owned()),
        ("FORWARD_AUTH_LISTEN_ADDR", "off".to_owned()),
        ("OPS_LISTEN_ADDR", anywhere()),
    ]);
    let gateway = Process::start(Program::Gateway, &of_gateway, folder)
        .ready()
        .await;
    let api = Api::at(&gateway.address("bearer"));
    let password = lines(folder, "admin-password").remove(0);
    let log_in = async || {
        let admin = TestUser::log_in(&api, "admin", &password).await;
        api.with_token(&admin.token)
    };
    let old = log_in().await;
    for (times, step) in ["accept", "sign"].into_iter().enumerate() {
        rotate(folder, step).await;
        auth.reload();
        eventually("a reload", async || {
            let log = auth.stderr();
            let read = log.matches("reloaded the keys of access tokens").count();
            (read > times).then_some(())
        })
        .await;
        old.get("/profile").await.expect(200);
    }
    let new = log_in().await;
    let dropped = init(folder, &["--rotate", "drop", "--now"]).await;
    assert_eq!(dropped.code, Some(0), "{dropped:?}");
    auth.reload();
    eventually("the old token is refused", async || {
        (old.get("/profile").await.status == 401).then_some(())
    })
    .await;
    new.get("/profile").await.expect(200);
}

#[tokio::test]
async fn password_that_only_the_copies_have_is_kept() {
    let root = tempfile::tempdir().expect("a folder");
    let (secrets, copies) = (root.path().join("secrets"), root.path().join("copies"));
    let (database, copies_path) = (root.path().join("database"), copies.display().to_string());
    let database_path = database.display().to_string();
    fs::create_dir(&database).expect("made");
    let arguments = [
        "--postgres=rolegate@db:5432/rolegate",
        "--database-secrets",
        &copies_path,
        "--database-directory",
        &database_path,
    ];
    assert_eq!(init(&secrets, &arguments).await.code, Some(0));
    let password = lines(&secrets, "database-password");
    fs::write(database.join("PG_VERSION"), "17\n").expect("written");
    fs::remove_dir_all(&secrets).expect("removed");
    let exit = init(&secrets, &arguments).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert_eq!(lines(&secrets, "database-password"), password);
}

#[tokio::test]
async fn lost_password_of_an_existing_database_is_an_error_and_creates_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let (secrets, database) = (root.path().join("secrets"), root.path().join("database"));
    let path = database.display().to_string();
    let of_database = ["--database-directory", &path];
    // A database directory that is missing or empty means a first start.
    assert_eq!(init(&secrets, &of_database).await.code, Some(0));
    fs::create_dir(&database).expect("made");
    assert_eq!(init(&secrets, &of_database).await.code, Some(0));
    fs::write(database.join("PG_VERSION"), "17\n").expect("written");
    assert_eq!(
        init(&secrets, &of_database).await.code,
        Some(0),
        "it has its password"
    );
    fs::remove_dir_all(&secrets).expect("removed");
    let exit = init(&secrets, &of_database).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(
        exit.stderr.contains("database-password: does not exist"),
        "{exit:?}"
    );
    assert!(
        exit.stderr.contains("password of its first start"),
        "{exit:?}"
    );
    assert_eq!(
        fs::read_dir(&secrets).expect("a folder").count(),
        0,
        "something was created"
    );
    let file = init(&secrets, &["--database-directory", "/proc/version"]).await;
    assert_eq!(file.code, Some(64), "{file:?}");
    assert!(
        file.stderr.starts_with("--database-directory: "),
        "{file:?}"
    );
}
