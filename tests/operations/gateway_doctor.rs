//! Checks that `gateway doctor` reports problems and changes nothing.

use crate::doctor::expect_line;
use e2e::{
    Authority, Exit, Process, Program, Store, TestApp, TestSetup, Validity, for_split_deployments,
};
use std::{collections::BTreeMap, path::Path};

for_split_deployments!(doctor_reaches_both_services);

async fn doctor(settings: &BTreeMap<String, String>, folder: &Path) -> Exit {
    Process::run(Program::Gateway, &["doctor"], settings, folder, "").await
}

/// Returns settings of a gateway with free ports that calls the services of `app`.
fn settings(app: &TestApp) -> BTreeMap<String, String> {
    let addresses = ["BEARER", "BASIC", "FORWARD_AUTH", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()));
    let urls = [
        ("AUTH", app.auth().address("grpc")),
        ("POSTS", app.posts().address("grpc")),
    ]
    .map(|(name, url)| (format!("{name}_SERVICE_URL"), url));
    addresses.into_iter().chain(urls).collect()
}

async fn doctor_reaches_both_services(setup: TestSetup) {
    let app = setup.start().await;
    for process in app.processes() {
        process.wait_for_readiness(200).await;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(&app);
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    for (program, name) in [("auth-service", "AUTH"), ("posts-service", "POSTS")] {
        let url = &settings[&format!("{name}_SERVICE_URL")];
        expect_line(&exit, "ok", &format!("{program} at {url} answers"));
    }
    expect_line(&exit, "ok", "BASIC_LISTEN_ADDR 127.0.0.1:0 is free");
    let ops = app.gateway().socket_address("ops").to_string();
    settings.insert("OPS_LISTEN_ADDR".to_owned(), ops);
    settings.remove("POSTS_SERVICE_URL");
    let exit = doctor(&settings, folder.path()).await;
    expect_line(
        &exit,
        "ok",
        "every caller that sends x-forwarded-for is in TRUSTED_PROXIES",
    );
    let proxied = app.bearer.request(reqwest::Method::GET, "/public");
    app.bearer
        .send(proxied.header("x-forwarded-for", "192.0.2.1"))
        .await
        .expect(200);
    let exit = doctor(&settings, folder.path()).await;
    // Any client can send the header, so doctor only warns.
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(
        &exit,
        "note",
        "1 calls with x-forwarded-for came from addresses outside of",
    );
    expect_line(&exit, "ok", "in use by a server that is ready");
    expect_line(&exit, "ok", "off, because POSTS_SERVICE_URL is not set");
}

#[tokio::test]
async fn doctor_reports_all_problems_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("bound").to_string();
    let settings = BTreeMap::from(
        [
            ("AUTH_SERVICE_URL", "http://127.0.0.1:1"),
            ("POSTS_SERVICE_URL", "http://no-such-name.invalid:50052"),
            ("BEARER_LISTEN_ADDR", port.as_str()),
            ("BASIC_LISTEN_ADDR", "off"),
            ("FORWARD_AUTH_LISTEN_ADDR", "off"),
            ("OPS_LISTEN_ADDR", "192.0.2.1:9000"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    let refused = "auth-service at http://127.0.0.1:1 does not answer: connection refused";
    expect_line(&exit, "FAILED", refused);
    let unknown = "posts-service at http://no-such-name.invalid:50052 is not found: ";
    expect_line(&exit, "FAILED", unknown);
    expect_line(&exit, "FAILED", "BEARER_LISTEN_ADDR: cannot listen on");
    expect_line(
        &exit,
        "FAILED",
        "OPS_LISTEN_ADDR: cannot listen on 192.0.2.1:",
    );
    assert_eq!(exit.stderr, "4 checks failed\n");
    for (name, value, text) in [
        (
            "AUTH_SERVICE_URL",
            "https://127.0.0.1:1",
            "AUTH_CLIENT_TLS_CA_FILE: is required",
        ),
        (
            "AUTH_SERVICE_URL",
            "127.0.0.1:1",
            "AUTH_SERVICE_URL: must be http://",
        ),
        (
            "AUTH_CLIENT_TLS_CERT_FILE",
            "/x",
            "AUTH_CLIENT_TLS_KEY_FILE: is required",
        ),
        (
            "POSTS_CLIENT_TLS_CA_FILE",
            "/x",
            "POSTS_SERVICE_URL: must begin with https://",
        ),
    ] {
        let mut settings = settings.clone();
        settings.insert(name.to_owned(), value.to_owned());
        expect_line(&doctor(&settings, folder.path()).await, "FAILED", text);
    }
    let mut settings = settings;
    settings.insert("BEARER_LISTEN_ADDR".to_owned(), "off".to_owned());
    let exit = doctor(&settings, folder.path()).await;
    expect_line(
        &exit,
        "FAILED",
        "BEARER_LISTEN_ADDR: is off, and so is BASIC_LISTEN_ADDR",
    );
}

#[tokio::test]
async fn doctor_checks_the_names_of_certificates() {
    let authority = Authority::new();
    let own = authority.issue("own", &["127.0.0.1", "localhost"], Validity::Current);
    let caller = authority.issue("gateway", &[], Validity::Current);
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&caller.key, private).expect("set");
    let setup = TestSetup::split(Store::Sqlite).with_tls(&authority, &own, &caller);
    let app = setup.start().await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut settings = settings(&app);
    for link in ["AUTH", "POSTS"] {
        for (name, file) in [
            ("CA", &authority.file()),
            ("CERT", &caller.certificate),
            ("KEY", &caller.key),
        ] {
            let file = file.display().to_string();
            settings.insert(format!("{link}_CLIENT_TLS_{name}_FILE"), file);
        }
    }
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    expect_line(
        &exit,
        "ok",
        "answers; its certificate is trusted and has this name",
    );
    let wrong = authority.issue("wrong", &["auth.example"], Validity::Current);
    own.replace_with(&wrong);
    app.auth().reload();
    app.auth()
        .logs("the reload", |line| {
            line.contains("reloaded the certificates")
        })
        .await;
    let exit = doctor(&settings, folder.path()).await;
    assert_eq!(exit.code, Some(1), "{exit:?}");
    expect_line(
        &exit,
        "FAILED",
        r#"is only valid for DnsName("auth.example")"#,
    );
}
