//! Tests what both sides log if gateway and auth-service do not agree about TLS.

use crate::tls_port::Certified;
use e2e::{ADMIN_PASSWORD, Process, Program, Store, TestApp, TestSetup, Validity, eventually};
use std::collections::BTreeMap;

/// Waits until the process logs a warning with both texts, and asserts that it is logged once, although the gateway
/// keeps trying.
pub(crate) async fn expect_once(process: &Process, text: &str, cause: &str) {
    let is_it = |line: &str| line.contains("WARN") && line.contains(text) && line.contains(cause);
    process.logs(cause, is_it).await;
    let log = process.stderr();
    assert_eq!(
        log.lines().filter(|line| is_it(line)).count(),
        1,
        "not once: {log}"
    );
}

/// Starts another gateway that calls this URL, and waits until it has tried several times.
async fn gateway(app: &TestApp, url: &str, tls: &[(&str, String)]) -> (Process, String) {
    let mut settings: BTreeMap<_, _> = ["BEARER", "BASIC", "FORWARD_AUTH", "OPS"]
        .map(|name| (format!("{name}_LISTEN_ADDR"), "127.0.0.1:0".to_owned()))
        .into();
    settings.insert("AUTH_SERVICE_URL".to_owned(), url.to_owned());
    let tls = tls
        .iter()
        .map(|(name, value)| (format!("AUTH_CLIENT_TLS_{name}_FILE"), value.clone()));
    settings.extend(tls);
    let folder = std::env::temp_dir();
    let gateway = Process::start(Program::Gateway, &settings, &folder)
        .ready()
        .await;
    let bearer = e2e::Api::at(&gateway.address("bearer"));
    let login = serde_json::json!({ "username": "admin", "password": ADMIN_PASSWORD });
    for _ in 0..20 {
        bearer.post("/login", &login).await.expect(503);
    }
    let doctor = Process::run(Program::Gateway, &["doctor"], &settings, &folder, "").await;
    assert_eq!(doctor.code, Some(1), "{doctor:?}");
    assert!(!app.auth().stderr().contains("panicked"));
    (gateway, doctor.stdout)
}

#[tokio::test]
async fn a_gateway_that_speaks_plain_text_to_a_tls_port_is_explained_by_both() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    let url = app.auth().address("grpc").replace("https", "http");
    let (gateway, doctor) = gateway(&app, &url, &[]).await;
    let cause = "if this is a port with TLS, use https://";
    expect_once(&gateway, "no connection to auth-service", cause).await;
    assert!(doctor.contains(cause), "{doctor}");
    let refused = "it does not speak TLS";
    expect_once(app.auth(), "refused a connection", refused).await;
}

#[tokio::test]
async fn a_gateway_that_speaks_tls_to_a_plain_port_is_explained_by_both() {
    let certified = Certified::new();
    let app = TestSetup::split(Store::Sqlite).start().await;
    let url = app.auth().address("grpc").replace("http", "https");
    let ca = [("CA", certified.authority.file().display().to_string())];
    let (gateway, doctor) = gateway(&app, &url, &ca).await;
    let cause = "it does not speak TLS";
    expect_once(&gateway, "no secure connection to auth-service", cause).await;
    assert!(doctor.contains(cause), "{doctor}");
    let refused = "it speaks TLS, and this port does not; use http:// there";
    expect_once(app.auth(), "refused a connection", refused).await;
}

#[tokio::test]
async fn a_caller_without_a_certificate_or_with_a_wrong_one_is_explained_by_both() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    let url = app.auth().address("grpc");
    let ca = ("CA", certified.authority.file().display().to_string());
    let (none, doctor) = gateway(&app, &url, std::slice::from_ref(&ca)).await;
    let cause = "received fatal alert: CertificateRequired";
    expect_once(&none, "no secure connection to auth-service", cause).await;
    assert!(doctor.contains(cause), "{doctor}");
    let refused = "peer sent no certificates";
    expect_once(app.auth(), "refused a connection", refused).await;

    let expired = certified.authority.issue("expired", &[], Validity::Expired);
    let identity = [("CERT", &expired.certificate), ("KEY", &expired.key)]
        .map(|(name, file)| (name, file.display().to_string()));
    let (old, doctor) = gateway(&app, &url, &[&[ca][..], &identity].concat()).await;
    let cause = "received fatal alert: CertificateExpired";
    expect_once(&old, "no secure connection to auth-service", cause).await;
    assert!(doctor.contains(cause), "{doctor}");
    let refused = "invalid peer certificate: Expired";
    expect_once(app.auth(), "refused a connection", refused).await;
}

#[tokio::test]
async fn an_auth_service_that_is_not_up_yet_is_connection_refused_also_with_tls() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let ca = [("CA", certified.authority.file().display().to_string())];
    for (scheme, tls) in [("https", &ca[..]), ("http", &[])] {
        let (gateway, doctor) = gateway(&app, &format!("{scheme}://{address}"), tls).await;
        expect_once(
            &gateway,
            "no connection to auth-service",
            "connection refused",
        )
        .await;
        assert!(
            doctor.contains("does not answer: connection refused"),
            "{doctor}"
        );
        assert!(!gateway.stderr().contains("secure"), "{}", gateway.stderr());
    }
}

/// Checks that each program names the settings and the files that it has read again.
#[tokio::test]
async fn a_reload_names_the_settings_and_their_files() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    for process in app.processes() {
        process.reload();
    }
    let (own, caller) = (&certified.own, &certified.caller);
    let server = format!("AUTH_TLS_CERT_FILE={}", own.certificate.display());
    let client = format!("AUTH_CLIENT_TLS_KEY_FILE={}", caller.key.display());
    let is_reload = |line: &str| line.contains("reloaded the certificates of");
    app.auth()
        .logs(&server, |line| is_reload(line) && line.contains(&server))
        .await;
    app.gateway()
        .logs(&client, |line| is_reload(line) && line.contains(&client))
        .await;
    std::fs::write(&caller.key, "no key").expect("written");
    app.gateway().reload();
    let kept = |line: &str| line.contains("cannot reload") && line.contains(&client);
    app.gateway().logs("that the old ones stay", kept).await;
    eventually("logins", async || {
        (app.try_log_in("admin", ADMIN_PASSWORD).await.status == 200).then_some(())
    })
    .await;
}
