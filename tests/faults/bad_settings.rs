//! Settings that a program cannot work with: exit 64 and one line that names the variable.

use e2e::{
    ADMIN_PASSWORD, Authority, Plan, Process, Program, SIGNING_SECRET, Store, TestDatabase, Valid,
};
use std::{collections::BTreeMap, net::TcpListener, path::Path};

use Program::{AllInOne, AuthService, Gateway, PostsService};

type Settings = BTreeMap<String, String>;

/// For what can be found out only after some work, which is logged at info.
const QUIET: (&str, &str) = ("RUST_LOG", "warn");

async fn expect_refusal(program: Program, settings: &Settings, folder: &Path, variable: &str) {
    let exit = Process::start(program, settings, folder).exit().await;
    let what = format!("{} with {settings:?} said\n{}", program.name(), exit.stderr);
    assert_eq!(exit.code, Some(64), "{what}");
    assert_eq!(exit.stdout, "", "nothing listens: {what}");
    assert_eq!(exit.stderr.lines().count(), 1, "one line: {what}");
    assert!(exit.stderr.starts_with(&format!("{variable}: ")), "not {variable}: {what}");
    for secret in [SIGNING_SECRET, ADMIN_PASSWORD, "hunter2"] {
        assert!(!exit.stderr.contains(secret), "a secret is shown: {what}");
    }
}

fn good(program: Program, database: &TestDatabase) -> Settings {
    match program {
        AuthService => Plan::in_two_processes(Store::Sqlite).auth_settings(&database.url()),
        AllInOne => Plan::in_one_process(Store::Sqlite).auth_settings(&database.url()),
        PostsService => {
            let nowhere = "127.0.0.1:1".parse().expect("an address");
            Plan::in_two_processes(Store::Sqlite).posts_settings(&database.posts_url(), nowhere)
        }
        _ => ["BEARER_LISTEN_ADDR", "BASIC_LISTEN_ADDR", "OPS_LISTEN_ADDR"]
            .map(|name| (name.to_owned(), "127.0.0.1:0".to_owned()))
            .into(),
    }
}

/// Good settings but for one.
async fn expect_each_refused(table: &[(&[Program], &str, &str)]) {
    expect_each_refused_with(table, None).await;
}

async fn expect_each_refused_with(
    table: &[(&[Program], &str, &str)],
    further: Option<(&str, &str)>,
) {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (programs, variable, value) in table {
        for &program in *programs {
            let mut settings = good(program, &database);
            for (name, value) in further.iter().chain([&(*variable, *value)]) {
                settings.insert((*name).to_owned(), (*value).to_owned());
            }
            expect_refusal(program, &settings, folder.path(), variable).await;
        }
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_refused() {
    let every = &[AuthService, Gateway, AllInOne][..];
    let (owners, public) = (&[AuthService, AllInOne][..], &[Gateway, AllInOne][..]);
    expect_each_refused(&[
        (every, "OPS_LISTEN_ADDR", "hunter2"),
        (every, "OPS_LISTEN_ADDR", ""),
        (owners, "AUTH_LISTEN_ADDR", "localhost:50051"),
        (owners, "AUTH_LISTEN_ADDR", "127.0.0.1"),
        (public, "BEARER_LISTEN_ADDR", "127.0.0.1:70000"),
        (public, "BEARER_LISTEN_ADDR", "8000"),
        (public, "BASIC_LISTEN_ADDR", "Off"),
    ])
    .await;
}

#[tokio::test]
async fn a_number_out_of_bounds_is_refused() {
    let every = &[AuthService, Gateway, AllInOne][..];
    let owners = &[AuthService, AllInOne][..];
    expect_each_refused(&[
        (owners, "BCRYPT_COST", "11"),
        (owners, "BCRYPT_COST", "17"),
        (owners, "BCRYPT_COST", "4"),
        (owners, "BCRYPT_COST", "twelve"),
        (owners, "PASSWORD_MIN_LENGTH", "0"),
        (owners, "PASSWORD_MIN_LENGTH", "73"),
        (every, "LAME_DUCK_SECONDS", "-1"),
        (every, "LAME_DUCK_SECONDS", "soon"),
    ])
    .await;
}

#[tokio::test]
async fn telemetry_that_cannot_work_is_refused() {
    let every = &[AuthService, Gateway, AllInOne][..];
    expect_each_refused(&[
        (every, "LOG_FORMAT", "xml"),
        (every, "LOG_FORMAT", "JSON"),
        (every, "LOG_FORMAT", ""),
        (every, "OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
        (every, "OTEL_EXPORTER_OTLP_ENDPOINT", "https://collector:4317"),
        (every, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hunter2@collector:4317"),
        (every, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/v1/traces"),
    ])
    .await;
    let collector = Some(("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"));
    let protocol = "OTEL_EXPORTER_OTLP_PROTOCOL";
    expect_each_refused_with(&[(every, protocol, "http/protobuf")], collector).await;
}

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
        (owners, "DATABASE_URL", "mysql://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "hunter2"),
        (owners, "DATABASE_URL", ""),
    ])
    .await;
}

#[tokio::test]
async fn an_address_of_auth_service_that_is_no_url_is_refused() {
    let only = &[Gateway][..];
    expect_each_refused(&[
        (only, "AUTH_SERVICE_URL", "auth-service:50051"),
        (only, "AUTH_SERVICE_URL", "ftp://auth-service"),
        (only, "AUTH_SERVICE_URL", ""),
        (only, "TRUSTED_PROXIES", "everybody"),
        (only, "TRUSTED_PROXIES", "10.0.0.0/33"),
        (only, "CORS_ALLOWED_ORIGINS", "app.example"),
        (only, "CORS_ALLOWED_ORIGINS", "https://app.example/"),
        (only, "CORS_ALLOWED_ORIGINS", "*,https://app.example"),
        (only, "CORS_ALLOWED_ORIGINS", "https://hunter2@app.example"),
    ])
    .await;
}

#[tokio::test]
async fn a_switch_is_on_or_off() {
    let public = &[Gateway, AllInOne][..];
    expect_each_refused(&[
        (public, "API_DOCS", ""),
        (public, "API_DOCS", "On"),
        (public, "API_DOCS", "true"),
        (public, "API_DOCS", "hunter2"),
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

#[tokio::test]
async fn an_address_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = taken.local_addr().map(|address| (address.to_string(), taken)).expect("bound");
    expect_each_refused_with(
        &[
            (&[AuthService, AllInOne], "AUTH_LISTEN_ADDR", &taken.0),
            (&[Gateway, AllInOne], "BEARER_LISTEN_ADDR", &taken.0),
            (&[Gateway, AllInOne], "BASIC_LISTEN_ADDR", &taken.0),
            (&[AuthService, Gateway, AllInOne], "OPS_LISTEN_ADDR", &taken.0),
        ],
        Some(QUIET),
    )
    .await;
}

#[tokio::test]
async fn what_the_operator_cannot_have_meant_is_refused() {
    let owners = &[AuthService, AllInOne][..];
    let only_auth = &[AuthService][..];
    expect_each_refused(&[
        (owners, "BCRYPT_THREADS", "0"),
        (owners, "BCRYPT_THREADS", "257"),
        (owners, "BCRYPT_THREADS", "all"),
        (owners, "BCRYPT_LANES", "0"),
        (owners, "BCRYPT_LANES", "9"),
        (owners, "LOGIN_FAILURE_LIMIT", "-1"),
        (owners, "LOGIN_FAILURE_LIMIT", "1000001"),
        (owners, "LOGIN_FAILURE_LIMIT", "20.5"),
        (owners, "BASIC_MEMORY_SECONDS", "86401"),
        (owners, "BASIC_MEMORY_SECONDS", "5m"),
        (owners, "REGISTRATION", "Open"),
        (owners, "REGISTRATION", ""),
        (owners, "REGISTRATION_LIMIT", "many"),
        (owners, "REGISTRATION_LIMIT", "4294967296"),
        (owners, "PASSWORD_MIN_LENGTH", ""),
        (only_auth, "TRUSTED_GATEWAYS", "localhost"),
        (only_auth, "TRUSTED_GATEWAYS", "10.0.0.0/8;192.168.0.0/16"),
        (&[AllInOne], "TRUSTED_PROXIES", "10.0.0.0/33"),
        (&[Gateway, AllInOne], "LAME_DUCK_SECONDS", "301"),
        (only_auth, "LAME_DUCK_SECONDS", "0x2"),
    ])
    .await;
}

#[tokio::test]
async fn a_gateway_without_any_public_address_is_refused() {
    let public = &[Gateway, AllInOne][..];
    let off = Some(("BASIC_LISTEN_ADDR", "off"));
    expect_each_refused_with(&[(public, "BEARER_LISTEN_ADDR", "off")], off).await;
}

#[tokio::test]
async fn further_addresses_of_auth_service_that_cannot_work_are_refused() {
    let only = &[Gateway][..];
    expect_each_refused(&[
        (only, "AUTH_SERVICE_URL", "http://auth-service"),
        (only, "AUTH_SERVICE_URL", "http://auth-service:70000"),
        (only, "AUTH_SERVICE_URL", "http://me:hunter2@auth-service:50051"),
        (only, "AUTH_SERVICE_URL", "http://auth-service:50051/path"),
        (only, "AUTH_SERVICE_URL", "http://auth service:50051"),
    ])
    .await;
}

#[tokio::test]
async fn a_database_that_cannot_be_meant_is_refused() {
    let owners = &[AuthService, AllInOne][..];
    expect_each_refused(&[
        (owners, "DATABASE_URL", "postgres:/hunter2@localhost/users"),
        (owners, "DATABASE_URL", "POSTGRES://root:hunter2@localhost/users"),
        (owners, "DATABASE_URL", "postgres://root:hunter2@localhost:port/users"),
        (owners, "DATABASE_URL", "sqlite::memory:"),
        (owners, "DATABASE_URL", "sqlite://"),
        (owners, "DATABASE_URL", "sqlite://users.db?mode=memory"),
        (owners, "DATABASE_URL", "/var/lib/users.db"),
    ])
    .await;
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

#[tokio::test]
async fn a_setting_given_as_a_flag_is_refused_in_the_same_words() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for arguments in [
        &["--bcrypt-cost", "hunter2"][..],
        &["serve", "--bcrypt-cost", "hunter2"],
        &["--bcrypt-cost", "hunter2", "serve"],
    ] {
        let settings = good(AuthService, &database);
        let exit = Process::run(AuthService, arguments, &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr, "BCRYPT_COST: must be a whole number from 12 to 16\n");
        assert_eq!(exit.stdout, "");
    }
    for arguments in [&["--sereve"][..], &["hunter2"], &["serve", "hunter2"], &["--bcrypt-cost"]] {
        let settings = good(AuthService, &database);
        let exit = Process::run(AuthService, arguments, &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
        assert!(!exit.stderr.contains("hunter2"), "a stray word may be a secret: {exit:?}");
    }
}

#[tokio::test]
async fn what_posts_cannot_work_with_is_refused() {
    let (only, both) = (&[PostsService][..], &[PostsService, AllInOne][..]);
    expect_each_refused(&[
        (only, "OPS_LISTEN_ADDR", "hunter2"),
        (only, "LAME_DUCK_SECONDS", "301"),
        (both, "POSTS_LISTEN_ADDR", "localhost:50052"),
        (both, "POSTS_LISTEN_ADDR", "127.0.0.1"),
        (only, "POSTS_LISTEN_ADDR", "off"),
        (only, "AUTH_SERVICE_URL", "auth-service:50051"),
        (only, "AUTH_SERVICE_URL", ""),
        (only, "DATABASE_URL", "mysql://root:hunter2@localhost/posts"),
        (only, "DATABASE_URL", ""),
        (&[AllInOne], "POSTS_DATABASE_URL", "hunter2"),
        (&[AllInOne], "POSTS_DATABASE_URL", ""),
        (&[Gateway], "POSTS_SERVICE_URL", "posts-service:50052"),
        (&[Gateway], "POSTS_SERVICE_URL", "ftp://posts-service:50052"),
        (&[Gateway], "POSTS_SERVICE_URL", ""),
    ])
    .await;
}

#[tokio::test]
async fn posts_service_asks_for_its_database_and_for_one_source_of_it() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = good(PostsService, &database);
    settings.insert("DATABASE_URL_FILE".to_owned(), "/nowhere/at/all".to_owned());
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    settings.remove("DATABASE_URL");
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL_FILE").await;
    settings.remove("DATABASE_URL_FILE");
    expect_refusal(PostsService, &settings, folder.path(), "DATABASE_URL").await;
    let mut settings = good(AllInOne, &database);
    settings.insert("POSTS_DATABASE_URL_FILE".to_owned(), "/nowhere/at/all".to_owned());
    expect_refusal(AllInOne, &settings, folder.path(), "POSTS_DATABASE_URL_FILE").await;
}

#[tokio::test]
async fn an_address_of_posts_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    let both = &[PostsService, AllInOne][..];
    expect_each_refused_with(&[(both, "POSTS_LISTEN_ADDR", &address)], Some(QUIET)).await;
}

/// A setting that is added without a case in this file is noticed here.
#[tokio::test]
async fn every_setting_has_a_case_here() {
    let cases = include_str!("bad_settings.rs");
    let folder = tempfile::tempdir().expect("a folder");
    for program in [AuthService, PostsService, Gateway, AllInOne] {
        let help = Process::run(program, &["--help"], &Settings::new(), folder.path(), "").await;
        let settings: Vec<_> = help
            .stdout
            .split("[env: ")
            .skip(1)
            .filter_map(|rest| rest.split(['=', ']']).next())
            .collect();
        assert!(settings.len() > 5, "{help:?}");
        for setting in settings {
            // Every secret is tried as a value and as a file.
            let value = setting.strip_suffix("_FILE").unwrap_or(setting);
            let has_case = [setting, value].iter().any(|it| cases.contains(&format!("\"{it}\"")));
            assert!(has_case, "{setting} of {program:?} has no case");
        }
    }
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
