//! Checks that programs refuse invalid addresses, numbers, switches and URLs of other services.

use super::{
    AuthService, Gateway, PostsService, QUIET, Rolegate, expect_each_refused,
    expect_each_refused_with, expect_end, expect_rejected, good,
};
use e2e::{Process, Store, TestDatabase};
use std::{
    collections::BTreeMap,
    net::{TcpListener, TcpStream},
};

#[tokio::test]
async fn invalid_listen_address_is_rejected() {
    let every = &[AuthService, Gateway, Rolegate][..];
    let (owners, public) = (&[AuthService, Rolegate][..], &[Gateway, Rolegate][..]);
    expect_each_refused(&[
        (every, "OPS_LISTEN_ADDR", "hunter2"),
        (owners, "AUTH_LISTEN_ADDR", "localhost:50051"),
        (owners, "AUTH_LISTEN_ADDR", "127.0.0.1"),
        (owners, "AUTH_LISTEN_ADDR", "10.0.0.0/33:50051"),
        (public, "BEARER_LISTEN_ADDR", "127.0.0.1:70000"),
        (public, "BEARER_LISTEN_ADDR", "8000"),
        (public, "BASIC_LISTEN_ADDR", "Off"),
        (public, "FORWARD_AUTH_LISTEN_ADDR", "on"),
    ])
    .await;
}

#[tokio::test]
async fn out_of_range_value_is_rejected() {
    let every = &[AuthService, Gateway, Rolegate][..];
    let owners = &[AuthService, Rolegate][..];
    expect_each_refused(&[
        (owners, "BCRYPT_COST", "11"),
        (owners, "BCRYPT_COST", "17"),
        (owners, "BCRYPT_COST", "4"),
        (owners, "BCRYPT_COST", "twelve"),
        (owners, "DATABASE_READS", "Quorum"),
        (owners, "PASSWORD_MIN_LENGTH", "0"),
        (owners, "PASSWORD_MIN_LENGTH", "73"),
        (every, "LAME_DUCK_SECONDS", "-1"),
        (every, "LAME_DUCK_SECONDS", "soon"),
    ])
    .await;
}

#[tokio::test]
async fn invalid_telemetry_setting_is_rejected() {
    let every = &[AuthService, PostsService, Gateway, Rolegate][..];
    expect_each_refused(&[
        (every, "LOG_FORMAT", "xml"),
        (every, "LOG_FORMAT", "JSON"),
        (every, "RUST_LOG", "a=b=c"),
        (every, "RUST_LOG", "info,h2=loud"),
        (every, "RUST_LOG", "[hunter2"),
        (every, "OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317"),
        (
            every,
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "https://collector:4317",
        ),
        (
            every,
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "http://user:hunter2@collector:4317",
        ),
        (
            every,
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "http://collector:4318/v1/traces",
        ),
    ])
    .await;
    let collector = Some(("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317"));
    expect_each_refused_with(
        &[
            (every, "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            (every, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            (every, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector"),
            (every, "OTEL_SDK_DISABLED", "yes"),
            (every, "OTEL_TRACES_EXPORTER", "zipkin"),
            (every, "OTEL_TRACES_SAMPLER", "xray"),
        ],
        collector,
    )
    .await;
}

#[tokio::test]
async fn invalid_gateway_setting_is_rejected() {
    let only = &[Gateway][..];
    expect_each_refused(&[
        (only, "AUTH_SERVICE_URL", "auth-service:50051"),
        (only, "AUTH_SERVICE_URL", "ftp://auth-service"),
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
async fn invalid_setting_of_the_public_api_is_rejected() {
    let public = &[Gateway, Rolegate][..];
    expect_each_refused(&[
        (public, "REQUEST_MEMORY_MIB", "15"),
        (public, "REQUEST_MEMORY_MIB", "65537"),
        (public, "REQUEST_MEMORY_MIB", "64MiB"),
        (public, "REQUEST_MEMORY_MIB", "-64"),
        (public, "RESPONSE_MEMORY_MIB", "31"),
        (public, "RESPONSE_MEMORY_MIB", "65537"),
        (&[PostsService], "RESPONSE_MEMORY_MIB", "31"),
        (&[PostsService], "RESPONSE_MEMORY_MIB", "many"),
        (public, "MAX_CONNECTIONS_PER_ADDRESS", "0"),
        (public, "MAX_CONNECTIONS_PER_ADDRESS", "10001"),
        (public, "MAX_CONNECTIONS_PER_ADDRESS", "-1"),
        (public, "MAX_CONNECTIONS_PER_ADDRESS", "many"),
        (public, "API_DOCS", "On"),
        (public, "API_DOCS", "true"),
        (public, "API_DOCS", "hunter2"),
        (public, "CONSOLE", "Off"),
        (public, "CONSOLE", "false"),
        (public, "CONSOLE", "hunter2"),
        (&[Rolegate], "POSTS", "Off"),
        (&[Rolegate], "POSTS", "false"),
        (&[Rolegate], "POSTS", "hunter2"),
    ])
    .await;
}

#[tokio::test]
async fn one_port_for_two_listeners_is_rejected_with_both_names() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let free = || TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let address = free().expect("a free port").to_string();
    for (program, one, other) in [
        (AuthService, "AUTH_LISTEN_ADDR", "OPS_LISTEN_ADDR"),
        (PostsService, "POSTS_LISTEN_ADDR", "OPS_LISTEN_ADDR"),
        (Gateway, "BASIC_LISTEN_ADDR", "BEARER_LISTEN_ADDR"),
        (Gateway, "FORWARD_AUTH_LISTEN_ADDR", "BASIC_LISTEN_ADDR"),
        (Rolegate, "POSTS_LISTEN_ADDR", "AUTH_LISTEN_ADDR"),
        (Rolegate, "BEARER_LISTEN_ADDR", "OPS_LISTEN_ADDR"),
    ] {
        let mut settings = good(program, &database);
        settings.extend([one, other].map(|name| (name.to_owned(), address.clone())));
        let line = expect_rejected(program, &settings, folder.path(), one).await;
        assert!(
            line.contains(&format!("is also the address of {other}")),
            "{line}"
        );
    }
}

#[tokio::test]
async fn log_filter_with_an_unknown_level_is_rejected() {
    let every = &[AuthService, PostsService, Gateway, Rolegate][..];
    expect_each_refused(&[
        (every, "RUST_LOG", "warning"),
        (every, "RUST_LOG", "info,h2"),
        (every, "RUST_LOG", "h2=warning"),
    ])
    .await;
}

#[tokio::test]
async fn argument_of_a_command_is_named_in_its_error() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, start) in [
        (&["user", "set-role", "ann"][..], "ROLE: is required"),
        (&["user", "set-role", "ann", "king"], "ROLE: "),
        (&["user", "reset-password"], "USERNAME: is required"),
        (&["user"], "arguments: a subcommand is missing"),
        (&["init-secrets"], "DIRECTORY: is required"),
        (
            &["init-secrets", "a", "--postgres"],
            "--postgres: a value is missing",
        ),
        (
            &[
                "init-secrets",
                "a",
                "--rotate",
                "sign",
                "--postgres",
                "ann@db/users",
            ],
            "--rotate: cannot be used with --postgres",
        ),
        (
            &["--bcrypt-cost", "12", "--bcrypt-cost", "13"],
            "BCRYPT_COST: is given more than once",
        ),
    ] {
        let nothing = BTreeMap::new();
        let exit = Process::run(AuthService, arguments, &nothing, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert!(exit.stderr.starts_with(start), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
    }
}

/// The port may be free at the next start. The exit code is therefore not 64, after which systemd would not try again.
#[tokio::test]
async fn address_that_is_in_use_or_not_there_yet_ends_a_start_but_is_no_wrong_setting() {
    let listening = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = listening.local_addr().expect("bound").to_string();
    // One connection uses a port that the system chose. Another has ended, and its port is in TIME_WAIT.
    let connected = TcpStream::connect(&taken).expect("connected");
    let of_client = connected.local_addr().expect("bound").to_string();
    let ended = TcpStream::connect(&taken).expect("connected");
    let in_time_wait = ended.local_addr().expect("bound").to_string();
    let accepted = [(); 2].map(|()| listening.accept().expect("accepted"));
    drop(ended);
    drop(accepted);
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let owners = &[AuthService, Rolegate][..];
    let public = &[Gateway, Rolegate][..];
    let every = &[AuthService, PostsService, Gateway, Rolegate][..];
    for (programs, variable) in [
        (owners, "AUTH_LISTEN_ADDR"),
        (&[PostsService, Rolegate], "POSTS_LISTEN_ADDR"),
        (public, "BEARER_LISTEN_ADDR"),
        (public, "BASIC_LISTEN_ADDR"),
        (public, "FORWARD_AUTH_LISTEN_ADDR"),
        (every, "OPS_LISTEN_ADDR"),
    ] {
        for &program in programs {
            for address in [&*taken, &of_client, &in_time_wait, "192.0.2.1:8000"] {
                let mut settings = good(program, &database);
                settings.extend(
                    [QUIET, (variable, address)]
                        .map(|(name, value)| (name.to_owned(), value.to_owned())),
                );
                let line = expect_end(program, &settings, folder.path(), variable, 1).await;
                assert!(line.contains("cannot listen on"), "{line}");
            }
        }
    }
    let mut settings = good(AuthService, &database);
    let elsewhere = ("AUTH_LISTEN_ADDR", "203.0.113.0/24:50051");
    settings.extend([QUIET, elsewhere].map(|(name, value)| (name.to_owned(), value.to_owned())));
    let line = expect_end(AuthService, &settings, folder.path(), elsewhere.0, 1).await;
    assert!(line.contains("no address in"), "{line}");
    drop(connected);
}

/// Checks that an invalid variable of a library ends a start like an invalid setting.
#[tokio::test]
async fn value_that_a_library_cannot_read_is_rejected() {
    let every = &[AuthService, PostsService, Gateway, Rolegate][..];
    expect_each_refused(&[
        (every, "TOKIO_WORKER_THREADS", "abc"),
        (every, "TOKIO_WORKER_THREADS", "0"),
        (every, "TOKIO_WORKER_THREADS", " "),
        (every, "TOKIO_WORKER_THREADS", "-1"),
    ])
    .await;
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    for (name, value) in [
        ("PGPORT", "many"),
        ("PGPORT", "0"),
        ("PGSSLMODE", "on"),
        ("PGSSLMODE", "allow"),
        ("PGSSLMODE", ""),
    ] {
        let mut settings = good(AuthService, &database);
        settings.insert(name.to_owned(), value.to_owned());
        settings.insert(
            "DATABASE_URL".to_owned(),
            "postgres://localhost/users".to_owned(),
        );
        let line = expect_rejected(AuthService, &settings, folder.path(), "DATABASE_URL").await;
        assert!(line.contains(name), "{line}");
    }
}

#[tokio::test]
async fn invalid_limit_or_network_is_rejected() {
    let every = &[AuthService, Gateway, Rolegate][..];
    let owners = &[AuthService, Rolegate][..];
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
        (owners, "BASIC_CACHE_TTL_SECONDS", "86401"),
        (owners, "BASIC_CACHE_TTL_SECONDS", "5m"),
        (owners, "REGISTRATION", "Open"),
        (owners, "REGISTRATION_LIMIT", "many"),
        (owners, "REGISTRATION_LIMIT", "4294967296"),
        (owners, "EXTRA_ROLES", "Editor"),
        (owners, "EXTRA_ROLES", "editor,admin"),
        (owners, "EXTRA_ROLES", "editor,editor"),
        (owners, "EXTRA_ROLES", "éditeur"),
        (every, "SIGN_IN", "On"),
        (every, "SIGN_IN_URL", "http://auth.example.org/sign-in"),
        (every, "SIGN_IN_URL", "//evil.example"),
        (every, "SIGN_IN_TITLE", "a:b"),
        (every, "SIGN_IN_TITLE", " a"),
        (every, "SIGN_IN_HELP", "http://help.example.org"),
        (every, "SIGN_IN_HELP", "a\nb"),
        (&[Gateway, Rolegate], "SIGN_IN_LOGO_FILE", "/dev/null"),
        (&[Gateway, Rolegate], "SIGN_IN_LOGO_FILE", "missing.svg"),
        (every, "COOKIE_DOMAIN", ".example.org"),
        (every, "RETURN_ORIGINS", "https://app.example.org/"),
        (every, "RETURN_ORIGINS", "*"),
        (owners, "SESSION_IDLE_SECONDS", "299"),
        (owners, "SESSION_IDLE_SECONDS", "12h"),
        // This value exceeds the default of SESSION_MAX_SECONDS.
        (owners, "SESSION_IDLE_SECONDS", "2592001"),
        (owners, "SESSION_MAX_SECONDS", "299"),
        (owners, "SESSION_MAX_SECONDS", "31536001"),
        (only_auth, "TRUSTED_GATEWAYS", "localhost"),
        (only_auth, "TRUSTED_GATEWAYS", "10.0.0.0/8;192.168.0.0/16"),
        (&[Rolegate], "TRUSTED_PROXIES", "10.0.0.0/33"),
        (&[Gateway, Rolegate], "LAME_DUCK_SECONDS", "301"),
        (only_auth, "LAME_DUCK_SECONDS", "0x2"),
    ])
    .await;
}

#[tokio::test]
async fn gateway_without_any_public_address_is_rejected() {
    let public = &[Gateway, Rolegate][..];
    let off = Some(("BASIC_LISTEN_ADDR", "off"));
    expect_each_refused_with(&[(public, "BEARER_LISTEN_ADDR", "off")], off).await;
}

#[tokio::test]
async fn invalid_auth_service_url_is_rejected() {
    let only = &[Gateway][..];
    expect_each_refused(&[
        (only, "AUTH_SERVICE_URL", "http://auth-service"),
        (only, "AUTH_SERVICE_URL", "http://auth-service:70000"),
        (only, "AUTH_SERVICE_URL", "http://auth-service:0"),
        (
            only,
            "AUTH_SERVICE_URL",
            "http://me:hunter2@auth-service:50051",
        ),
        (only, "AUTH_SERVICE_URL", "http://auth-service:50051/path"),
        (only, "AUTH_SERVICE_URL", "http://auth service:50051"),
    ])
    .await;
}

#[tokio::test]
async fn flag_is_rejected_with_the_same_message_as_the_variable() {
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
        assert_eq!(
            exit.stderr,
            "BCRYPT_COST: must be a whole number from 12 to 16\n"
        );
        assert_eq!(exit.stdout, "");
    }
    for arguments in [
        &["--sereve"][..],
        &["hunter2"],
        &["serve", "hunter2"],
        &["--bcrypt-cost"],
    ] {
        let settings = good(AuthService, &database);
        let exit = Process::run(AuthService, arguments, &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(64), "{arguments:?}: {exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{arguments:?}: {exit:?}");
        assert!(
            !exit.stderr.contains("hunter2"),
            "a stray word may be a secret: {exit:?}"
        );
    }
}

#[tokio::test]
async fn invalid_posts_setting_is_rejected() {
    let (only, both) = (&[PostsService][..], &[PostsService, Rolegate][..]);
    expect_each_refused(&[
        (only, "OPS_LISTEN_ADDR", "hunter2"),
        (only, "LAME_DUCK_SECONDS", "301"),
        (both, "POSTS_LISTEN_ADDR", "localhost:50052"),
        (both, "POSTS_LISTEN_ADDR", "127.0.0.1"),
        (only, "POSTS_LISTEN_ADDR", "off"),
        (only, "AUTH_SERVICE_URL", "auth-service:50051"),
        (&[Gateway], "POSTS_SERVICE_URL", "posts-service:50052"),
        (&[Gateway], "POSTS_SERVICE_URL", "ftp://posts-service:50052"),
        (&[Gateway], "POSTS_SERVICE_URL", "http://posts-service:0"),
    ])
    .await;
}
