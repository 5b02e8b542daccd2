//! Tests gRPC with TLS: which clients and servers accept each other.

use crate::tls_causes::expect_once;
use crate::tls_port::{Certified, Port, channel, login_request};
use e2e::{
    ADMIN_PASSWORD, Authority, Process, Store, TestApp, TestDatabase, TestSetup, Validity,
    eventually, for_sqlite_deployments, within_bounds,
};
use rolegate_proto::auth_v1::auth_service_client::AuthServiceClient;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tonic::{Request, transport::ClientTlsConfig};
use tonic_types::StatusExt as _;

for_sqlite_deployments!(only_a_valid_client_certificate_gets_past_the_handshake);

async fn only_a_valid_client_certificate_gets_past_the_handshake(setup: TestSetup) {
    let certified = Certified::new();
    let app = certified.of(setup).start().await;
    let Certified { authority, .. } = &certified;
    let elsewhere = Authority::new();
    let stranger = elsewhere.issue("stranger", &[], Validity::Current);
    let expired = authority.issue("expired", &[], Validity::Expired);
    for port in [Port::Auth, Port::Posts] {
        let address = port.address(&app);
        assert!(address.starts_with("https://"), "{address}");
        for (client, tls) in [
            ("a client without certificate", Some(authority.client(None))),
            (
                "a client of another authority",
                Some(authority.client(Some(&stranger))),
            ),
            (
                "a client with an expired certificate",
                Some(authority.client(Some(&expired))),
            ),
        ] {
            port.expect_nothing(&address, tls, client).await;
        }
        let unencrypted = address.replace("https", "http");
        port.expect_nothing(&unencrypted, None, "a client without TLS")
            .await;
        let socket = address.trim_start_matches("https://");
        let mut garbage = TcpStream::connect(socket).await.expect("open");
        garbage.write_all(&[0xff; 4096]).await.expect("sent");
        let _ = within_bounds("the end", garbage.read_to_end(&mut Vec::new())).await;
        port.expect_everything(&address, Some(certified.good_client()))
            .await;
        let log = port.process(&app).stderr();
        assert!(!log.contains("panicked"), "{log}");
    }
}

#[tokio::test]
async fn silent_connections_do_not_block_others() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    let address = app.auth().socket_address("grpc");
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(
            TcpStream::connect(address)
                .await
                .expect("the kernel answers"),
        );
    }
    let url = app.auth().address("grpc");
    let good = Port::Auth.expect_everything(&url, Some(certified.good_client()));
    within_bounds("a good client", good).await;
    // The connections have not timed out yet, because reading from a closed one would return its end.
    let is_open = |stream: &TcpStream| stream.try_read(&mut [0]).is_err();
    assert!(
        silent.iter().any(is_open),
        "the good client waited for the silent ones"
    );
}

#[tokio::test]
async fn tls_client_at_a_plaintext_port_fails_cleanly() {
    let certified = Certified::new();
    let app = TestSetup::split(Store::Sqlite).start().await;
    for port in [Port::Auth, Port::Posts] {
        let address = port.address(&app);
        let encrypted = address.replace("http", "https");
        let tls = Some(certified.good_client());
        port.expect_nothing(&encrypted, tls, "a client with TLS")
            .await;
        port.expect_everything(&address, None).await;
    }
}

/// Checks that the gateway calls auth-service only once the server's certificate is valid.
#[tokio::test]
async fn gateway_rejects_an_auth_service_without_a_valid_certificate() {
    for (why, other, hosts, valid, cause, of_server) in [
        (
            "another authority",
            true,
            &["127.0.0.1"][..],
            Validity::Current,
            "invalid peer certificate: BadSignature",
            "received fatal alert: DecryptError",
        ),
        (
            "another name",
            false,
            &["auth.example", "127.0.0.2"],
            Validity::Current,
            "certificate not valid for name",
            "received fatal alert: BadCertificate",
        ),
        (
            "too old",
            false,
            &["127.0.0.1"],
            Validity::Expired,
            "invalid peer certificate: Expired",
            "received fatal alert: CertificateExpired",
        ),
    ] {
        let certified = Certified::new();
        let elsewhere = Authority::new();
        let signer = if other {
            &elsewhere
        } else {
            &certified.authority
        };
        let wrong = signer.issue("wrong", hosts, valid);
        let good = certified
            .authority
            .issue("good", &["127.0.0.1"], Validity::Current);
        certified.own.replace_with(&wrong);
        let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
        let response = app.try_log_in("admin", ADMIN_PASSWORD).await;
        response.expect_detail(503, "Service temporarily unavailable.");
        let complaint = "no secure connection to auth-service";
        expect_once(app.gateway(), complaint, cause).await;
        expect_once(app.auth(), "refused a connection", of_server).await;

        // A valid certificate is loaded without a restart.
        certified.own.replace_with(&good);
        app.auth().reload();
        app.auth()
            .logs(why, |line| line.contains("reloaded the certificates"))
            .await;
        eventually("auth-service to be trusted", async || {
            let response = app.try_log_in("admin", ADMIN_PASSWORD).await;
            (response.status == 200).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn unreadable_certificates_change_nothing() {
    let certified = Certified::new();
    let app = certified.of(TestSetup::split(Store::Sqlite)).start().await;
    let other = certified
        .authority
        .issue("other", &["127.0.0.1"], Validity::Current);
    std::fs::copy(&other.key, &certified.own.key).expect("copied");
    std::fs::write(&certified.caller.certificate, "no certificate").expect("written");
    for process in app.processes() {
        process.reload();
        process
            .logs("that they stay", |line| {
                line.contains("cannot reload the certificates")
            })
            .await;
    }
    let log = app.auth().stderr() + &app.gateway().stderr();
    for said in ["is not the key of", "contains no PEM certificate"] {
        assert!(log.contains(said), "nothing says {said}: {log}");
    }
    app.admin().await;
    let (_, proxy) = app.auth_and_proxy();
    // New connections use the certificates that were read before, too.
    proxy.cut();
    eventually("the outage", async || {
        (app.try_log_in("admin", ADMIN_PASSWORD).await.status == 503).then_some(())
    })
    .await;
    let mut app = app;
    app.auth_proxy().open();
    eventually("recovery", async || {
        (app.try_log_in("admin", ADMIN_PASSWORD).await.status == 200).then_some(())
    })
    .await;
}

/// Fails to log in four times for one client address, then once for another one, and returns the reason of the last
/// refusal.
async fn last_reason(app: &TestApp, tls: ClientTlsConfig) -> String {
    let channel = channel(&app.auth().address("grpc"), Some(tls))
        .await
        .expect("connected");
    let mut client = AuthServiceClient::new(channel);
    let mut reason = String::new();
    for end_user in [
        "192.0.2.1",
        "192.0.2.1",
        "192.0.2.1",
        "192.0.2.1",
        "192.0.2.2",
    ] {
        let mut request = Request::new(login_request("wrong"));
        request
            .metadata_mut()
            .insert("x-client-address", end_user.parse().expect("text"));
        let status = client.login(request).await.expect_err("a wrong password");
        reason = status
            .get_details_error_info()
            .expect("a refusal of ours")
            .reason;
    }
    reason
}

#[tokio::test]
async fn verified_client_certificate_makes_a_caller_trusted() {
    let certified = Certified::new();
    let setup = || {
        let setup = TestSetup::split(Store::Sqlite).with("LOGIN_FAILURE_LIMIT", "3");
        setup.with("TRUSTED_GATEWAYS", "192.0.2.0/24")
    };
    let app = certified.of(setup()).start().await;
    assert_eq!(
        last_reason(&app, certified.good_client()).await,
        "CREDENTIALS_INVALID"
    );

    let own = &certified.own;
    let one_sided = setup()
        .with_file("AUTH_TLS_CERT_FILE", &own.certificate)
        .with_file("AUTH_TLS_KEY_FILE", &own.key)
        .with_file("AUTH_CLIENT_TLS_CA_FILE", &certified.authority.file());
    let app = one_sided.start().await;
    app.admin().await;
    // A client certificate that is not verified proves nothing.
    assert_eq!(
        last_reason(&app, certified.good_client()).await,
        "TOO_MANY_ATTEMPTS"
    );
}

#[tokio::test]
async fn plaintext_on_a_public_address_is_warned_about() {
    let database = TestDatabase::create(Store::Sqlite).await;
    let folder = tempfile::tempdir().expect("a folder");
    let warns = |log: &str| log.matches("gRPC is not encrypted here").count();
    for setup in [
        TestSetup::all_in_one(Store::Sqlite),
        TestSetup::split(Store::Sqlite),
    ] {
        let start = async |setup: &TestSetup| {
            let settings = setup.auth_settings(&database.url());
            let process = Process::start(setup.auth_program(), &settings, folder.path());
            let process = process.ready().await;
            let port = process.socket_address("grpc").port();
            let address = process.address("grpc").replace("0.0.0.0", "127.0.0.1");
            assert!(address.ends_with(&port.to_string()), "{address}");
            (process, address)
        };
        let open = setup.clone().with("AUTH_LISTEN_ADDR", "0.0.0.0:0");
        let (process, _) = start(&open).await;
        process
            .logs("a warning", |line| {
                warns(line) == 1 && line.contains("WARN")
            })
            .await;
        assert_eq!(warns(&process.stderr()), 1);

        let (process, address) = start(&setup).await;
        channel(&address, None).await.expect("it serves");
        assert_eq!(warns(&process.stderr()), 0, "on loopback");
        let certified = Certified::new();
        let (process, address) = start(&certified.of(open)).await;
        Port::Auth
            .expect_everything(&address, Some(certified.good_client()))
            .await;
        assert_eq!(warns(&process.stderr()), 0, "encrypted");
    }
}
