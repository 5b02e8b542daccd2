//! Tests TLS on the address of proxies: which proxies get decisions, and how certificates are replaced.

use crate::{tls_causes::expect_once, tls_port::Certified};
use e2e::{
    Authority, Certificate, TestApp, TestSetup, Validity, eventually, for_sqlite_deployments,
    within_bounds,
};
use std::{path::Path, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    },
};

for_sqlite_deployments!(
    only_a_proxy_with_a_valid_certificate_gets_decisions,
    new_certificates_are_used_after_sighup_and_bad_ones_change_nothing,
);

fn certificates(file: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(file)
        .expect("PEM")
        .map(|it| it.expect("valid"))
        .collect()
}

/// Returns the TLS side of a proxy that trusts this CA file and presents this certificate.
fn proxy(ca: &Path, identity: Option<&Certificate>) -> TlsConnector {
    let mut trusted = RootCertStore::empty();
    trusted.add_parsable_certificates(certificates(ca));
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(trusted);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(Certificate { certificate, key }) => {
            let key = PrivateKeyDer::from_pem_file(key).expect("a key");
            builder
                .with_client_auth_cert(certificates(certificate), key)
                .expect("they match")
        }
    };
    Arc::new(config).into()
}

fn setup(setup: TestSetup, certified: &Certified) -> TestSetup {
    setup
        .with_file("FORWARD_AUTH_TLS_CERT_FILE", &certified.own.certificate)
        .with_file("FORWARD_AUTH_TLS_KEY_FILE", &certified.own.key)
        .with_file(
            "FORWARD_AUTH_TLS_CLIENT_CA_FILE",
            &certified.authority.file(),
        )
}

async fn connect(app: &TestApp) -> TcpStream {
    TcpStream::connect(app.gateway().socket_address("forward"))
        .await
        .expect("open")
}

/// Returns what the port answers to a request with this token. In TLS 1.3, only an answer proves that the port has
/// accepted the proxy.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, token: &str) -> String {
    let head = format!("Host: rolegate\r\nAuthorization: Bearer {token}\r\nConnection: close");
    let request = format!("GET /authorize?roles=admin HTTP/1.1\r\n{head}\r\n\r\n");
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = within_bounds("the end", stream.read_to_end(&mut answer)).await;
    String::from_utf8_lossy(&answer).into_owned()
}

async fn ask(app: &TestApp, proxy: &TlsConnector, token: &str) -> String {
    let name = "localhost".try_into().expect("a name");
    match proxy.connect(name, connect(app).await).await {
        Ok(stream) => exchange(stream, token).await,
        Err(_) => String::new(),
    }
}

async fn only_a_proxy_with_a_valid_certificate_gets_decisions(other: TestSetup) {
    let certified = Certified::new();
    let app = setup(other, &certified).start().await;
    assert!(app.gateway().address("forward").starts_with("https://"));
    let token = app.admin().await.token;
    let ca = certified.authority.file();
    let elsewhere = Authority::new();
    let stranger = elsewhere.issue("stranger", &[], Validity::Current);
    let expired = certified.authority.issue("expired", &[], Validity::Expired);
    // Connections without a handshake do not delay others.
    let _silent = [connect(&app).await, connect(&app).await];
    for (client, identity, problem) in [
        ("no certificate", None, "peer sent no certificates"),
        (
            "another authority",
            Some(&stranger),
            "invalid peer certificate: BadSignature",
        ),
        (
            "too old",
            Some(&expired),
            "invalid peer certificate: Expired",
        ),
    ] {
        assert_eq!(
            ask(&app, &proxy(&ca, identity), &token).await,
            "",
            "{client}"
        );
        expect_once(app.gateway(), "refused a connection", problem).await;
    }
    let plain = exchange(connect(&app).await, &token).await;
    assert!(!plain.contains("HTTP"), "{plain}");
    expect_once(
        app.gateway(),
        "refused a connection",
        "it does not speak TLS",
    )
    .await;
    let good = proxy(&ca, Some(&certified.caller));
    let answer = ask(&app, &good, &token).await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("rolegate-role: admin"));
    assert!(
        ask(&app, &good, "nonsense")
            .await
            .starts_with("HTTP/1.1 401 ")
    );
}

async fn new_certificates_are_used_after_sighup_and_bad_ones_change_nothing(other: TestSetup) {
    let certified = Certified::new();
    let app = setup(other, &certified).start().await;
    let token = app.admin().await.token;
    let elsewhere = Authority::new();
    let of_old_ca = proxy(&certified.authority.file(), Some(&certified.caller));
    let of_new_ca = proxy(&elsewhere.file(), Some(&certified.caller));
    assert!(ask(&app, &of_old_ca, &token).await.contains(" 200 "));
    certified
        .own
        .replace_with(&elsewhere.issue("new", &["localhost"], Validity::Current));
    app.gateway().reload();
    eventually("the new certificate", async || {
        ask(&app, &of_new_ca, &token)
            .await
            .contains(" 200 ")
            .then_some(())
    })
    .await;
    assert_eq!(
        ask(&app, &of_old_ca, &token).await,
        "",
        "the old certificate is still used"
    );

    std::fs::write(&certified.own.certificate, "no certificate").expect("written");
    app.gateway().reload();
    let kept = "cannot reload the certificates of FORWARD_AUTH_TLS_CERT_FILE=";
    app.gateway()
        .logs("that it stays", |line| line.contains(kept))
        .await;
    assert!(ask(&app, &of_new_ca, &token).await.contains(" 200 "));
}
