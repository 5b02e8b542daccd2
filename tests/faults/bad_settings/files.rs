//! Secrets, their files, the files of encryption and the folder of data.

use super::{
    AllInOne, AuthService, Gateway, Program, QUIET, expect_each_refused, expect_refusal, good,
};
use e2e::{ADMIN_PASSWORD, Authority, Process, SIGNING_SECRET, Store, TestDatabase, Valid};
use std::path::Path;

#[tokio::test]
async fn a_secret_that_cannot_work_is_refused_without_showing_it() {
    let owners = &[AuthService, AllInOne][..];
    let long = format!("hunter2{}", "x".repeat(66));
    expect_each_refused(&[
        (owners, "SIGNING_SECRET", "hunter2"),
        (owners, "SIGNING_SECRET", ""),
        (owners, "SIGNING_SECRET", "hunter2 hunter2 hunter2 hunter2"),
        (owners, "SIGNING_SECRETS_ACCEPTED", "hunter2"),
        (owners, "SIGNING_SECRETS_ACCEPTED", &format!("{long}\nhunter2")),
        (owners, "SIGNING_SECRETS_ACCEPTED", &format!("{long}\n")),
        (owners, "SIGNING_SECRETS_ACCEPTED", &format!("{long},")),
        (owners, "DEFAULT_ADMIN_PASSWORD", &long),
        (owners, "DEFAULT_ADMIN_PASSWORD", ""),
    ])
    .await;
}

#[tokio::test]
async fn what_is_required_is_asked_for() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for variable in ["DATABASE_URL", "SIGNING_SECRET", "DEFAULT_ADMIN_PASSWORD"] {
        let mut settings = good(AuthService, &database);
        settings.insert(QUIET.0.to_owned(), QUIET.1.to_owned());
        settings.remove(variable);
        expect_refusal(AuthService, &settings, folder.path(), variable).await;
    }
}

#[tokio::test]
async fn a_secret_file_that_cannot_be_read_or_is_one_too_many_is_refused() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for variable in
        ["SIGNING_SECRET", "SIGNING_SECRETS_ACCEPTED", "DEFAULT_ADMIN_PASSWORD", "DATABASE_URL"]
    {
        for program in [AuthService, AllInOne] {
            let mut settings = good(program, &database);
            let file = format!("{variable}_FILE");
            settings.entry(variable.to_owned()).or_insert_with(|| SIGNING_SECRET.to_owned());
            settings.insert(file.clone(), "/nowhere/at/all".to_owned());
            expect_refusal(program, &settings, folder.path(), variable).await;
            settings.remove(variable);
            expect_refusal(program, &settings, folder.path(), &file).await;
        }
    }
}

#[tokio::test]
async fn a_file_of_keys_that_are_none_is_refused_by_the_name_of_its_setting() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("keys");
    let good_key = "hunter2 ".repeat(5);
    for (variable, content) in [
        ("SIGNING_SECRET_FILE", "hunter2\n"),
        ("SIGNING_SECRET_FILE", ""),
        ("SIGNING_SECRETS_ACCEPTED_FILE", ""),
        ("SIGNING_SECRETS_ACCEPTED_FILE", "hunter2"),
        ("SIGNING_SECRETS_ACCEPTED_FILE", &format!("{good_key}\nhunter2\n")),
        ("SIGNING_SECRETS_ACCEPTED_FILE", &format!("{good_key}\n\n")),
    ] {
        std::fs::write(&path, content).expect("written");
        for program in [AuthService, AllInOne] {
            let mut settings = good(program, &database);
            if variable == "SIGNING_SECRET_FILE" {
                settings.remove("SIGNING_SECRET");
            }
            settings.insert(variable.to_owned(), path.display().to_string());
            expect_refusal(program, &settings, folder.path(), variable).await;
        }
    }
}

#[tokio::test]
async fn a_secret_may_come_from_a_file_with_a_newline_at_its_end() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(Program::AuthService, &database);
    for variable in ["SIGNING_SECRET", "DEFAULT_ADMIN_PASSWORD", "DATABASE_URL"] {
        let value = settings.remove(variable).expect("it was set");
        let path = folder.path().join(variable);
        std::fs::write(&path, value + "\n").expect("written");
        settings.insert(format!("{variable}_FILE"), path.display().to_string());
    }
    let process = Process::start(Program::CheapAuthService, &settings, folder.path()).ready().await;
    let mut client = e2e::grpc::client(&process.address("grpc")).await;
    let request = auth_proto::auth_v1::LoginRequest {
        username: "admin".to_owned(),
        password: ADMIN_PASSWORD.to_owned(),
    };
    client.login(request).await.expect("the password without the newline");
}

/// Files that hold no secret, each in the place of each secret.
#[tokio::test]
async fn a_file_that_is_no_secret_is_refused() {
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
    let of_the_file = [no_text, too_large, folder.path().display().to_string(), "/dev/null".into()];
    for variable in ["SIGNING_SECRET", "DEFAULT_ADMIN_PASSWORD", "DATABASE_URL"] {
        for program in [AuthService, AllInOne] {
            let mut settings = good(program, &database);
            settings.remove(variable);
            let name = format!("{variable}_FILE");
            for path in &of_the_file {
                settings.insert(name.clone(), path.clone());
                expect_refusal(program, &settings, folder.path(), &name).await;
            }
            // A file that can be read holds a value, which is judged like any other. Keys are read
            // again and again, and blame their file.
            let blamed = if variable == "SIGNING_SECRET" { &name } else { variable };
            for path in [&empty, &newline] {
                settings.insert(name.clone(), path.clone());
                expect_refusal(program, &settings, folder.path(), blamed).await;
            }
        }
    }
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_one_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    let below = format!("{path}/data");
    expect_each_refused(&[(&[AllInOne], "DATA_DIR", &path), (&[AllInOne], "DATA_DIR", &below)])
        .await;
}

/// Good settings of an encrypted port or connection, but for what each case changes (`None` for
/// without).
async fn expect_tls_refused(
    program: Program,
    good_tls: &[(&str, &Path)],
    cases: &[(&str, Option<&Path>, &str)],
) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (changed, path, blamed) in cases {
        let mut settings = good(program, &database);
        if program == Gateway {
            settings.insert("AUTH_SERVICE_URL".to_owned(), "https://127.0.0.1:1".to_owned());
        }
        let text = |path: &Path| path.display().to_string();
        settings.extend(good_tls.iter().map(|(name, path)| ((*name).to_owned(), text(path))));
        match path {
            Some(path) => settings.insert((*changed).to_owned(), text(path)),
            None => settings.remove(*changed),
        };
        expect_refusal(program, &settings, folder.path(), blamed).await;
    }
}

#[tokio::test]
async fn files_of_encryption_that_are_half_there_or_no_good_are_refused() {
    let authority = Authority::new();
    let one = authority.certify("one", &["127.0.0.1"], Valid::Today);
    let two = authority.certify("two", &["127.0.0.1"], Valid::Today);
    let ca = authority.file();
    let folder = tempfile::tempdir().expect("a folder");
    let garbage = folder.path().join("garbage");
    // A marker in the wrong place makes PEM readers quote what they found.
    let text = "-----BEGIN hunter2\n-----BEGIN PRIVATE KEY-----\nhunter2\n";
    std::fs::write(&garbage, text).expect("written");
    let (nowhere, a_folder) = (Path::new("/nowhere/at/all"), folder.path());
    let of_auth = ["AUTH_TLS_CERT_FILE", "AUTH_TLS_KEY_FILE", "AUTH_TLS_CLIENT_CA_FILE"];
    let of_gateway =
        ["AUTH_CLIENT_TLS_CERT_FILE", "AUTH_CLIENT_TLS_KEY_FILE", "AUTH_CLIENT_TLS_CA_FILE"];
    for (program, [cert, key, authorities]) in
        [(AuthService, of_auth), (AllInOne, of_auth), (Gateway, of_gateway)]
    {
        let good_tls = [(cert, &*one.certificate), (key, &*one.key), (authorities, &*ca)];
        let mut cases = vec![(cert, None, cert), (key, None, key), (key, Some(&*two.key), key)];
        for name in [cert, key, authorities] {
            cases.extend([nowhere, a_folder, &garbage].map(|path| (name, Some(path), name)));
        }
        // A key is no certificate, and the other way round.
        cases.push((cert, Some(&*one.key), cert));
        cases.push((key, Some(&*one.certificate), key));
        if program == Gateway {
            cases.push((authorities, None, authorities));
            cases.push((
                "AUTH_SERVICE_URL",
                Some(Path::new("http://127.0.0.1:1")),
                "AUTH_SERVICE_URL",
            ));
        }
        expect_tls_refused(program, &good_tls, &cases).await;
    }
    let only_authorities = [("AUTH_TLS_CLIENT_CA_FILE", &*ca)];
    let case = [("AUTH_TLS_CERT_FILE", None, "AUTH_TLS_CERT_FILE")];
    expect_tls_refused(AuthService, &only_authorities, &case).await;
    let case = [("AUTH_CLIENT_TLS_CA_FILE", None, "AUTH_CLIENT_TLS_CA_FILE")];
    expect_tls_refused(Gateway, &[], &case).await;
}
