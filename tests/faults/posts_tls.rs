//! Tests TLS between gateway and posts-service: without valid certificates on both sides, only requests for posts get a
//! 503.

use crate::tls_port::Certified;
use e2e::{
    ADMIN_PASSWORD, Authority, Certificate, Store, TestApp, TestSetup, Validity, eventually,
};

/// Returns the setup of a deployment whose posts-service has a certificate of its own.
fn setup(certified: &Certified, posts: &Certificate) -> TestSetup {
    let setup = certified.of(TestSetup::split(Store::Sqlite));
    setup
        .with_file("POSTS_TLS_CERT_FILE", &posts.certificate)
        .with_file("POSTS_TLS_KEY_FILE", &posts.key)
}

fn posts_certificate(certified: &Certified) -> Certificate {
    certified
        .authority
        .issue("posts-service", &["127.0.0.1"], Validity::Current)
}

async fn only_posts_are_out(app: &TestApp, why: &str) {
    let response = app.bearer.get("/posts").await;
    assert_eq!(response.status, 503, "{why}: {response}");
    response.expect_detail(503, "Service temporarily unavailable.");
    assert_eq!(
        app.try_log_in("admin", ADMIN_PASSWORD).await.status,
        200,
        "{why}"
    );
}

async fn posts_are_back(app: &TestApp, why: &str) {
    eventually(why, async || {
        (app.bearer.get("/posts").await.status == 200).then_some(())
    })
    .await;
}

fn is_complaint(line: &str) -> bool {
    line.contains("no secure connection to posts-service") && line.contains("WARN")
}

#[tokio::test]
async fn gateway_rejects_a_posts_service_without_a_valid_certificate() {
    for (why, other, hosts, valid) in [
        (
            "another authority",
            true,
            &["127.0.0.1"][..],
            Validity::Current,
        ),
        (
            "another name",
            false,
            &["posts.example", "127.0.0.2"],
            Validity::Current,
        ),
        ("too old", false, &["127.0.0.1"], Validity::Expired),
    ] {
        let certified = Certified::new();
        let (own, elsewhere) = (posts_certificate(&certified), Authority::new());
        let good = certified
            .authority
            .issue("good", &["127.0.0.1"], Validity::Current);
        let signer = if other {
            &elsewhere
        } else {
            &certified.authority
        };
        own.replace_with(&signer.issue("wrong", hosts, valid));
        let app = setup(&certified, &own).start().await;
        only_posts_are_out(&app, why).await;
        app.gateway().logs(why, is_complaint).await;

        // A valid certificate is loaded without a restart.
        own.replace_with(&good);
        app.posts().reload();
        app.posts()
            .logs(why, |line| line.contains("reloaded the certificates"))
            .await;
        posts_are_back(&app, why).await;
    }
}

#[tokio::test]
async fn gateway_without_a_valid_certificate_gets_no_posts() {
    for (why, other, valid) in [
        ("a client of another authority", true, Validity::Current),
        (
            "a client with an expired certificate",
            false,
            Validity::Expired,
        ),
    ] {
        let certified = Certified::new();
        let elsewhere = Authority::new();
        let signer = if other {
            &elsewhere
        } else {
            &certified.authority
        };
        let shown = signer.issue("shown", &[], valid);
        let setup = setup(&certified, &posts_certificate(&certified))
            .with_file("POSTS_CLIENT_TLS_CERT_FILE", &shown.certificate)
            .with_file("POSTS_CLIENT_TLS_KEY_FILE", &shown.key);
        let app = setup.start().await;
        only_posts_are_out(&app, why).await;
        app.gateway().logs(why, is_complaint).await;

        shown.replace_with(&certified.caller);
        app.gateway().reload();
        posts_are_back(&app, why).await;
    }
    let certified = Certified::new();
    let setup = setup(&certified, &posts_certificate(&certified));
    let setup = setup
        .without("POSTS_CLIENT_TLS_CERT_FILE")
        .without("POSTS_CLIENT_TLS_KEY_FILE");
    let app = setup.start().await;
    only_posts_are_out(&app, "no certificate").await;
    app.gateway().logs("no certificate", is_complaint).await;
}

#[tokio::test]
async fn plaintext_and_tls_do_not_connect() {
    let certified = Certified::new();
    let encrypted = setup(&certified, &posts_certificate(&certified));
    let files = |prefix: &str, names: [&str; 3]| names.map(|name| format!("{prefix}_{name}_FILE"));
    let of_caller = files("POSTS_CLIENT_TLS", ["CA", "CERT", "KEY"]);
    let of_service = files("POSTS_TLS", ["CLIENT_CA", "CERT", "KEY"]);
    for (why, missing) in [
        ("a plain gateway", &of_caller),
        ("a plain service", &of_service),
    ] {
        let setup = missing
            .iter()
            .fold(encrypted.clone(), |setup, name| setup.without(name));
        let app = setup.start().await;
        only_posts_are_out(&app, why).await;
        assert!(
            !app.posts().stderr().contains("panicked"),
            "{}",
            app.posts().stderr()
        );
    }
}
