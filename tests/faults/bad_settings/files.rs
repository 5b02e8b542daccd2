//! Checks that programs refuse invalid secrets, secret files and data directories.

use super::{
    AuthService, Gateway, PostsService, Program, QUIET, Rolegate, expect_each_refused,
    expect_rejected, good, settings_of,
};
use e2e::{ADMIN_PASSWORD, Process, SIGNING_SECRET, Store, TestDatabase};
use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown},
    path::Path,
};

#[tokio::test]
async fn invalid_secret_is_rejected_without_being_shown() {
    let owners = &[AuthService, Rolegate][..];
    let long = format!("hunter2{}", "x".repeat(66));
    expect_each_refused(&[
        (owners, "SIGNING_SECRET", "hunter2"),
        (owners, "SIGNING_SECRET", "hunter2 hunter2 hunter2 hunter2"),
        (owners, "SIGNING_SECRETS_ACCEPTED", "hunter2"),
        (
            owners,
            "SIGNING_SECRETS_ACCEPTED",
            &format!("{long}\nhunter2"),
        ),
        (owners, "SIGNING_SECRETS_ACCEPTED", &format!("{long}\n")),
        (owners, "SIGNING_SECRETS_ACCEPTED", &format!("{long},")),
        (owners, "SECOND_FACTOR_KEY", "hunter2"),
        (
            owners,
            "SECOND_FACTOR_KEY",
            "hunter2 hunter2 hunter2 hunter2",
        ),
        (owners, "SECOND_FACTOR_KEYS_ACCEPTED", "hunter2"),
        (
            owners,
            "SECOND_FACTOR_KEYS_ACCEPTED",
            &format!("{long}\nhunter2"),
        ),
        (owners, "SECOND_FACTOR_KEYS_ACCEPTED", &format!("{long},")),
        (owners, "PASSWORD_PEPPER", "hunter2"),
        (owners, "PASSWORD_PEPPER", &format!("{long}\nhunter2")),
        (owners, "PASSWORD_PEPPER", &format!("{long},")),
        (owners, "PASSWORD_PEPPER", "none"),
        (owners, "PASSWORD_PEPPER", "none,"),
        (owners, "PASSWORD_PEPPER", "none,none"),
        (owners, "PASSWORD_PEPPER", "none,hunter2"),
        (owners, "PASSWORD_PEPPER", &format!("None,{long}")),
        (owners, "PASSWORD_PEPPER", &format!("{long},none")),
        (owners, "DEFAULT_ADMIN_PASSWORD", &long),
    ])
    .await;
}

#[tokio::test]
async fn blocklist_that_is_no_list_of_passwords_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("blocklist");
    let path = file.display().to_string();
    for program in [AuthService, Rolegate] {
        let mut settings = good(program, &database);
        for wrong in ["/nowhere/at/all", "/dev/zero", "/"] {
            settings.insert("PASSWORD_BLOCKLIST_FILE".to_owned(), wrong.to_owned());
            expect_rejected(program, &settings, folder.path(), "PASSWORD_BLOCKLIST_FILE").await;
        }
        settings.insert("PASSWORD_BLOCKLIST_FILE".to_owned(), path.clone());
        let ntlm = "8846f7eaee8fb117ad06bdd830b7586c:3\n";
        for wrong in ["", "\r\n\n", "hunter2\0", ntlm, &"hunter2".repeat(1000)] {
            fs::write(&file, wrong).expect("written");
            expect_rejected(program, &settings, folder.path(), "PASSWORD_BLOCKLIST_FILE").await;
        }
        fs::write(&file, ADMIN_PASSWORD).expect("written");
        settings.insert(QUIET.0.to_owned(), QUIET.1.to_owned());
        expect_rejected(program, &settings, folder.path(), "DEFAULT_ADMIN_PASSWORD").await;
    }
}

#[tokio::test]
async fn missing_required_setting_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for variable in ["DATABASE_URL", "SIGNING_SECRET", "DEFAULT_ADMIN_PASSWORD"] {
        let mut settings = good(AuthService, &database);
        settings.insert(QUIET.0.to_owned(), QUIET.1.to_owned());
        settings.remove(variable);
        expect_rejected(AuthService, &settings, folder.path(), variable).await;
    }
}

#[tokio::test]
async fn unreadable_or_duplicate_secret_file_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for variable in [
        "SIGNING_SECRET",
        "SIGNING_SECRETS_ACCEPTED",
        "SECOND_FACTOR_KEY",
        "SECOND_FACTOR_KEYS_ACCEPTED",
        "PASSWORD_PEPPER",
        "DEFAULT_ADMIN_PASSWORD",
        "DATABASE_URL",
    ] {
        for program in [AuthService, Rolegate] {
            let mut settings = good(program, &database);
            let file = format!("{variable}_FILE");
            settings
                .entry(variable.to_owned())
                .or_insert_with(|| SIGNING_SECRET.to_owned());
            settings.insert(file.clone(), "/nowhere/at/all".to_owned());
            expect_rejected(program, &settings, folder.path(), variable).await;
            settings.remove(variable);
            expect_rejected(program, &settings, folder.path(), &file).await;
        }
    }
}

#[tokio::test]
async fn invalid_key_file_is_rejected_by_the_name_of_its_setting() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    let good_key = "hunter2 ".repeat(5);
    for (variable, content) in [
        ("SIGNING_SECRET_FILE", "hunter2\n"),
        ("SIGNING_SECRET_FILE", ""),
        ("SIGNING_SECRETS_ACCEPTED_FILE", ""),
        ("SIGNING_SECRETS_ACCEPTED_FILE", "hunter2"),
        (
            "SIGNING_SECRETS_ACCEPTED_FILE",
            &format!("{good_key}\nhunter2\n"),
        ),
        ("SIGNING_SECRETS_ACCEPTED_FILE", &format!("{good_key}\n\n")),
        ("SECOND_FACTOR_KEY_FILE", "hunter2\n"),
        ("SECOND_FACTOR_KEY_FILE", ""),
        ("SECOND_FACTOR_KEYS_ACCEPTED_FILE", ""),
        (
            "SECOND_FACTOR_KEYS_ACCEPTED_FILE",
            &format!("{good_key}\nhunter2\n"),
        ),
    ] {
        std::fs::write(&path, content).expect("written");
        for program in [AuthService, Rolegate] {
            let mut settings = good(program, &database);
            settings.remove(variable.trim_end_matches("_FILE"));
            settings.insert(variable.to_owned(), path.display().to_string());
            expect_rejected(program, &settings, folder.path(), variable).await;
        }
    }
}

#[tokio::test]
async fn line_end_of_a_secret_file_is_ignored() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(Program::AuthService, &database);
    for variable in [
        "SIGNING_SECRET",
        "SECOND_FACTOR_KEY",
        "DEFAULT_ADMIN_PASSWORD",
        "DATABASE_URL",
    ] {
        let value = settings.remove(variable).expect("it was set");
        let path = folder.path().join(variable);
        std::fs::write(&path, value + "\r\n").expect("written");
        settings.insert(format!("{variable}_FILE"), path.display().to_string());
    }
    let process = Process::start(Program::FastHashAuthService, &settings, folder.path())
        .ready()
        .await;
    let mut client = e2e::grpc::client(&process.address("grpc")).await;
    let request = rolegate_proto::auth_v1::LoginRequest {
        username: "admin".to_owned(),
        password: ADMIN_PASSWORD.to_owned(),
        otp: None,
    };
    client
        .login(request)
        .await
        .expect("the password without the newline");
}

/// Tests every setting of a secret file with contents that are no secret.
#[tokio::test]
async fn file_without_a_secret_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("written");
        path.display().to_string()
    };
    let no_text = file("no-text", b"hunter2\xff\xfe");
    let too_large = file("too-large", &vec![b'x'; 64 * 1024 + 1]);
    let (empty, newline) = (file("empty", b""), file("newline", b"\n"));
    let of_the_file = [
        no_text,
        too_large,
        folder.path().display().to_string(),
        "/dev/null".into(),
    ];
    for variable in [
        "SIGNING_SECRET",
        "SECOND_FACTOR_KEY",
        "DEFAULT_ADMIN_PASSWORD",
        "DATABASE_URL",
    ] {
        for program in [AuthService, Rolegate] {
            let mut settings = good(program, &database);
            settings.remove(variable);
            let name = format!("{variable}_FILE");
            for path in &of_the_file {
                settings.insert(name.clone(), path.clone());
                expect_rejected(program, &settings, folder.path(), &name).await;
            }
            // A readable file holds a value, which is checked like any other: the error names the variable of the
            // value. Only for keys does it name that of the file.
            let is_key = ["SIGNING_SECRET", "SECOND_FACTOR_KEY"].contains(&variable);
            let blamed = if is_key { &name } else { variable };
            for path in [&empty, &newline] {
                settings.insert(name.clone(), path.clone());
                expect_rejected(program, &settings, folder.path(), blamed).await;
            }
        }
    }
}

/// Tests every secret of every program, in the environment and in a file.
#[tokio::test]
async fn secret_that_begins_or_ends_with_what_shows_nothing_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("secret");
    let mut count = 0;
    for program in [AuthService, PostsService, Gateway, Rolegate] {
        let names = settings_of(program, folder.path()).await;
        let secrets = names
            .iter()
            .filter(|name| names.contains(&format!("{name}_FILE")));
        for secret in secrets {
            let value = "hunter2".repeat(8);
            for odd in [
                format!("{value} "),
                format!("\u{feff}{value}"),
                format!("{value}\u{200b}"),
            ] {
                let name = format!("{secret}_FILE");
                fs::write(&path, format!("{odd}\r\n")).expect("written");
                let in_file = (name.clone(), path.display().to_string());
                for (name, value) in [(secret.clone(), odd), in_file] {
                    let mut settings = good(program, &database);
                    settings.remove(secret);
                    settings.insert(name.clone(), value);
                    let line = expect_rejected(program, &settings, folder.path(), &name).await;
                    assert!(line.contains("must not begin or end with"), "{line}");
                }
                count += 1;
            }
        }
    }
    assert!(count >= 20, "{count} cases");
}

#[tokio::test]
async fn unusable_data_dir_is_rejected() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    let below = format!("{path}/data");
    expect_each_refused(&[
        (&[Rolegate], "DATA_DIR", &path),
        (&[Rolegate], "DATA_DIR", &below),
    ])
    .await;
}

#[tokio::test]
async fn data_dir_that_others_can_change_or_whose_files_they_can_read_is_rejected() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let file = data.join("rolegate.db-wal");
    fs::create_dir(&data).expect("made");
    fs::write(&file, "").expect("written");
    let mut settings = good(Rolegate, &database);
    settings.insert("DATA_DIR".to_owned(), data.display().to_string());
    let set_modes = |of_folder, of_file| {
        for (path, mode) in [(&data, of_folder), (&file, of_file)] {
            fs::set_permissions(path, Permissions::from_mode(mode)).expect("set");
        }
    };
    for (of_folder, of_file, problem) in [
        (0o777, 0o600, "others may write to"),
        (0o720, 0o600, "others may write to"),
        (
            0o700,
            0o644,
            "rolegate.db-wal can be read or changed by others",
        ),
        (
            0o755,
            0o620,
            "rolegate.db-wal can be read or changed by others",
        ),
    ] {
        set_modes(of_folder, of_file);
        let line = expect_rejected(Rolegate, &settings, folder.path(), "DATA_DIR").await;
        assert!(line.contains(problem), "{line}");
    }
    // Other users may list the data directory, as long as they cannot read its files.
    set_modes(0o755, 0o600);
    Process::start(Program::FastHashRolegate, &settings, folder.path())
        .ready()
        .await;
}

#[tokio::test]
async fn data_dir_of_another_user_is_rejected() {
    const NOBODY: u32 = 65534;
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(Rolegate, &database);
    let of_root = fs::metadata(folder.path()).expect("there").uid() == 0;
    let other = if of_root {
        folder.path()
    } else {
        Path::new("/usr/bin")
    };
    let of_another = if of_root {
        chown(other, Some(NOBODY), None)
    } else {
        Ok(())
    };
    of_another.expect("root may give a folder away");
    settings.insert("DATA_DIR".to_owned(), other.display().to_string());
    let line = expect_rejected(Rolegate, &settings, Path::new("/"), "DATA_DIR").await;
    assert!(line.contains("belongs to user"), "{line}");
    if of_root {
        let file = folder.path().join("signing-secret");
        fs::write(&file, SIGNING_SECRET).expect("written");
        chown(&file, Some(NOBODY), None).expect("given away");
        chown(folder.path(), Some(0), None).expect("taken back");
        let line = expect_rejected(Rolegate, &settings, Path::new("/"), "DATA_DIR").await;
        assert!(line.contains("signing-secret belongs to user"), "{line}");
    }
}
