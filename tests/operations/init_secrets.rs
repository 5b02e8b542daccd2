//! Tests `auth-service init-secrets`: which files it creates, keeps, copies and rejects.

use e2e::{Exit, Process, Program};
use std::{
    collections::BTreeMap,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

const NAMES: [&str; 5] = [
    "signing-secret",
    "admin-password",
    "database-password",
    "database-url",
    "second-factor-key",
];
const PLACE: &str = "rolegate@postgres:5432/rolegate";

async fn init(folder: &Path, further: &[&str], settings: &[(&str, &str)]) -> Exit {
    let folder = folder.display().to_string();
    let mut arguments = vec!["init-secrets", &folder];
    arguments.extend(further);
    let settings = settings
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    let settings: BTreeMap<String, String> = settings.collect();
    Process::run(
        Program::AuthService,
        &arguments,
        &settings,
        Path::new("/"),
        "",
    )
    .await
}

fn content(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).expect(name)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("the mode can be set");
}

#[tokio::test]
async fn secrets_are_created_once_with_mode_0600_and_never_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("made/for/it");
    let first = init(&folder, &["--postgres", PLACE], &[]).await;
    assert_eq!(first.code, Some(0), "{first:?}");
    let made = NAMES.map(|name| content(&folder, name));
    for (name, content) in NAMES.iter().zip(&made) {
        assert!(
            first.stdout.contains(&format!("{name} created\n")),
            "{first:?}"
        );
        assert!(!first.stdout.contains(content.trim()), "{name} is shown");
        let permissions = fs::metadata(folder.join(name))
            .expect("there")
            .permissions();
        assert_eq!(permissions.mode() & 0o777, 0o600, "{name}");
    }
    let url = format!(
        "postgres://rolegate:{}@postgres:5432/rolegate\n",
        made[2].trim()
    );
    assert_eq!(made[3], url);
    assert!(made[0].trim().len() >= 32 && made[4].trim().len() >= 32 && made[0] != made[4]);
    let again = init(&folder, &["--postgres", PLACE], &[]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(
        NAMES.map(|name| content(&folder, name)),
        made,
        "nothing is made again"
    );
    assert_eq!(again.stdout.matches(" exists\n").count(), 5, "{again:?}");
    // A missing secret is created, and the others stay as they are.
    fs::remove_file(folder.join("admin-password")).expect("removed");
    init(&folder, &[], &[]).await;
    assert_ne!(content(&folder, "admin-password"), made[1]);
    assert_eq!(content(&folder, "signing-secret"), made[0]);
    assert_eq!(
        fs::read_dir(&folder).expect("a folder").count(),
        5,
        "no other file stays behind"
    );
}

#[tokio::test]
async fn database_secrets_are_copied_to_their_own_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let (folder, copies) = (
        root.path().join("secrets"),
        root.path().join("for/the/database"),
    );
    let copies_path = copies.display().to_string();
    let with_copies = ["--postgres", PLACE, "--database-secrets", &copies_path];
    // The first run has no second folder, as in deployments of earlier versions.
    init(&folder, &["--postgres", PLACE], &[]).await;
    for _ in 0..2 {
        let exit = init(&folder, &with_copies, &[]).await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
        for name in ["database-password", "database-url"] {
            assert_eq!(content(&copies, name), content(&folder, name), "{name}");
            assert!(
                !exit.stdout.contains(content(&copies, name).trim()),
                "{name} is shown"
            );
            let mode = fs::metadata(copies.join(name))
                .expect("there")
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        assert_eq!(
            fs::read_dir(&copies).expect("a folder").count(),
            2,
            "there is more"
        );
    }
}

#[tokio::test]
async fn differing_copies_are_rejected() {
    let root = tempfile::tempdir().expect("a folder");
    let (folder, copies) = (root.path().join("secrets"), root.path().join("copies"));
    let copies_path = copies.display().to_string();
    let with_copies = ["--postgres", PLACE, "--database-secrets", &copies_path];
    let other_url = "postgres://rolegate:hunter2@elsewhere/rolegate";
    for (name, other) in [
        ("database-password", "hunter2"),
        ("database-url", other_url),
    ] {
        init(&folder, &with_copies, &[]).await;
        fs::write(copies.join(name), other).expect("written");
        let exit = init(&folder, &with_copies, &[]).await;
        assert_eq!(exit.code, Some(64), "{exit:?}");
        assert!(
            exit.stderr
                .contains(&copies.join(name).display().to_string()),
            "{exit:?}"
        );
        assert!(
            exit.stderr.contains("delete it to create it again"),
            "{exit:?}"
        );
        assert!(
            !exit.stderr.contains("hunter2"),
            "a secret is shown: {exit:?}"
        );
        assert_eq!(
            content(&copies, name),
            other,
            "a file that was there is another one now"
        );
        fs::remove_dir_all(&copies).expect("removed");
    }
    init(&folder, &with_copies, &[]).await;
    set_mode(&copies, 0o777);
    let exit = init(&folder, &with_copies, &[]).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(exit.stderr.starts_with("--database-secrets: "), "{exit:?}");
}

#[tokio::test]
async fn eight_concurrent_runs_create_one_set_of_secrets() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let arguments = ["init-secrets", &path, "--postgres", PLACE];
    let (nothing, program) = (BTreeMap::new(), Program::AuthService);
    let start = || Process::start_with(program, &arguments, &nothing, Path::new("/"));
    let processes: Vec<_> = std::iter::repeat_with(start).take(8).collect();
    for process in processes {
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{exit:?}");
    }
    let password = content(folder.path(), "database-password");
    assert!(content(folder.path(), "database-url").contains(password.trim()));
}

#[tokio::test]
async fn generated_password_obeys_the_minimum_length() {
    let folder = tempfile::tempdir().expect("a folder");
    let exit = init(folder.path(), &[], &[("PASSWORD_MIN_LENGTH", "40")]).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    assert_eq!(content(folder.path(), "admin-password").trim().len(), 40);
}

/// Creates secrets, damages one with `spoil`, and asserts that the next run rejects it in one line.
async fn expect_rejected(spoil: impl FnOnce(&Path), subject: &str, problem: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("secrets");
    init(&folder, &["--postgres", PLACE], &[]).await;
    spoil(&folder);
    let exit = init(&folder, &["--postgres", PLACE], &[]).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert_eq!(exit.stderr.lines().count(), 1, "{exit:?}");
    assert!(
        exit.stderr.contains(subject) && exit.stderr.contains(problem),
        "{exit:?}"
    );
    assert!(
        !exit.stderr.contains("hunter2"),
        "a secret is shown: {exit:?}"
    );
}

#[tokio::test]
async fn folder_writable_by_others_is_rejected() {
    expect_rejected(
        |folder| set_mode(folder, 0o777),
        "DIRECTORY",
        "others may write",
    )
    .await;
    expect_rejected(
        |folder| set_mode(folder, 0o720),
        "DIRECTORY",
        "others may write",
    )
    .await;
}

#[tokio::test]
async fn file_in_place_of_the_folder_is_rejected() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let exit = init(file.path(), &[], &[]).await;
    assert_eq!(exit.code, Some(64), "{exit:?}");
    assert!(exit.stderr.starts_with("DIRECTORY: "), "{exit:?}");
    let nowhere = init(Path::new("/proc/nowhere"), &[], &[]).await;
    assert_eq!(nowhere.code, Some(64), "{nowhere:?}");
    assert!(nowhere.stderr.starts_with("DIRECTORY: "), "{nowhere:?}");
}

#[tokio::test]
async fn invalid_secret_is_rejected() {
    let write = |name: &'static str, text: &'static str| {
        move |folder: &Path| fs::write(folder.join(name), text).expect("written")
    };
    expect_rejected(
        write("signing-secret", "hunter2"),
        "signing-secret",
        "32 bytes",
    )
    .await;
    expect_rejected(
        write("second-factor-key", "hunter2"),
        "second-factor-key",
        "32 bytes",
    )
    .await;
    expect_rejected(
        write("admin-password", "\n"),
        "admin-password",
        "at least 1 byte",
    )
    .await;
    expect_rejected(
        write("database-password", ""),
        "database-password",
        "is empty",
    )
    .await;
    let other = "postgres://rolegate:hunter2@elsewhere/rolegate";
    expect_rejected(write("database-url", other), "database-url", "delete it").await;
    let readable = |folder: &Path| set_mode(&folder.join("signing-secret"), 0o644);
    expect_rejected(readable, "signing-secret", "others may have read it").await;
    let folder_in_its_place = |folder: &Path| {
        fs::remove_file(folder.join("signing-secret")).expect("removed");
        fs::create_dir(folder.join("signing-secret")).expect("made");
    };
    expect_rejected(folder_in_its_place, "signing-secret", "is not a file").await;
    let link_in_its_place = |folder: &Path| {
        fs::rename(folder.join("signing-secret"), folder.join("elsewhere")).expect("moved");
        std::os::unix::fs::symlink("elsewhere", folder.join("signing-secret")).expect("linked");
    };
    expect_rejected(link_in_its_place, "signing-secret", "is not a file").await;
}

#[tokio::test]
async fn invalid_argument_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    for arguments in [
        vec!["init-secrets"],
        vec!["init-secrets", "--postgres", PLACE],
        vec![
            "init-secrets",
            &path,
            "--postgres",
            "postgres://rolegate@db/x",
        ],
        vec!["init-secrets", &path, "--postgres", "rolegate:hunter2@db/x"],
        vec!["init-secrets", &path, "another"],
        vec!["init-secrets", &path, "--database-secrets"],
        vec!["init-secrets", &path, "--database-secrets", "/proc/nowhere"],
        vec!["init-secret", &path],
    ] {
        let nothing = BTreeMap::new();
        let exit = Process::run(
            Program::AuthService,
            &arguments,
            &nothing,
            folder.path(),
            "",
        );
        let exit = exit.await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
        assert!(!exit.stderr.contains("hunter2"), "{exit:?}");
        let made = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(made, 0, "{arguments:?} made something");
    }
}
