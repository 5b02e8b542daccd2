//! Tests callers that report client addresses but are not trusted, because an operator forgot a setting.

use e2e::{Api, Process, Program, Store, TestSetup};

/// A network in which no test has an address.
const OTHER_NETWORK: &str = "192.0.2.0/24";

#[tokio::test]
async fn forgotten_gateway_is_in_the_log_once_and_in_doctor() {
    let setup = TestSetup::split(Store::Sqlite).with("TRUSTED_GATEWAYS", OTHER_NETWORK);
    let app = setup.clone().start().await;
    let admin = app.admin().await;
    app.bearer
        .with_token(&admin.token)
        .get("/users")
        .await
        .expect(200);
    app.try_log_in("admin", "wrong").await.expect(401);
    let is_warning = |line: &str| line.contains("WARN") && line.contains("TRUSTED_GATEWAYS");
    app.auth().logs("the ignored address", is_warning).await;
    let log = app.auth().stderr();
    let warnings: Vec<&str> = log.lines().filter(|line| is_warning(line)).collect();
    let [warning] = warnings[..] else {
        panic!("not once: {log}")
    };
    assert!(
        warning.contains("127.0.0.1 sends x-client-address"),
        "{warning}"
    );

    let mut settings = setup.auth_settings(&app.database.url());
    for (name, listener) in [("AUTH_LISTEN_ADDR", "grpc"), ("OPS_LISTEN_ADDR", "ops")] {
        settings.insert(
            name.to_owned(),
            app.auth().socket_address(listener).to_string(),
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let doctor = ["doctor"];
    let exit = Process::run(Program::AuthService, &doctor, &settings, folder.path(), "").await;
    assert_eq!(
        (exit.code, &*exit.stderr),
        (Some(1), "1 check failed\n"),
        "{exit:?}"
    );
    let failed = exit
        .stdout
        .lines()
        .find(|line| line.starts_with("FAILED"))
        .expect("a line");
    assert!(
        failed.contains("3 calls with x-client-address") && failed.contains("TRUSTED_GATEWAYS")
    );
}

#[tokio::test]
async fn forgotten_proxy_is_in_the_log_once() {
    for setup in [
        TestSetup::split(Store::Sqlite),
        TestSetup::all_in_one(Store::Sqlite),
    ] {
        let app = setup.start().await;
        for client in ["198.51.100.7", "198.51.100.8", "nonsense"] {
            let request = app.bearer.request(reqwest::Method::GET, "/public");
            app.bearer
                .send(request.header("x-forwarded-for", client))
                .await
                .expect(200);
        }
        app.bearer.get("/public").await.expect(200);
        let is_warning = |line: &str| line.contains("WARN") && line.contains("TRUSTED_PROXIES");
        app.gateway().logs("the ignored address", is_warning).await;
        let log = app.gateway().stderr();
        assert_eq!(
            log.lines().filter(|line| is_warning(line)).count(),
            1,
            "{log}"
        );
        assert!(
            !log.contains("198.51.100"),
            "what strangers send is not logged: {log}"
        );
        let metrics = Api::at(&app.gateway().address("ops"))
            .get("/metrics")
            .await
            .body;
        let counted = r#"rolegate_ignored_client_addresses_total{setting="TRUSTED_PROXIES"} 3"#;
        assert!(metrics.contains(counted), "{metrics}");
    }
}

#[tokio::test]
async fn trusted_gateways_and_proxies_cause_no_warning() {
    let setup = TestSetup::split(Store::Sqlite).with("TRUSTED_PROXIES", "127.0.0.0/8");
    let app = setup.start().await;
    let request = app.bearer.request(reqwest::Method::GET, "/public");
    app.bearer
        .send(request.header("x-forwarded-for", "198.51.100.7"))
        .await
        .expect(200);
    app.admin().await;
    for process in app.processes() {
        let log = process.stderr();
        assert!(!log.contains("is ignored"), "{log}");
    }
}
