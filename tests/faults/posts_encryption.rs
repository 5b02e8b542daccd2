//! The way from the gateway to posts-service where it is encrypted: without good certificates on both
//! ends nothing travels on it, and nobody else notices.

use crate::encrypted_port::Certified;
use e2e::{ADMIN_PASSWORD, Authority, Certificate, Store, TestApp, TestSetup, Valid, eventually};

/// A world whose posts-service has a certificate of its own.
fn plan(certified: &Certified, posts: &Certificate) -> TestSetup {
    let plan = certified.of(TestSetup::split(Store::Sqlite));
    plan.with_file("POSTS_TLS_CERT_FILE", &posts.certificate)
        .with_file("POSTS_TLS_KEY_FILE", &posts.key)
}

fn posts_certificate(certified: &Certified) -> Certificate {
    certified.authority.certify("posts-service", &["127.0.0.1"], Valid::Today)
}

async fn only_posts_are_out(world: &TestApp, why: &str) {
    let answer = world.bearer.get("/posts").await;
    assert_eq!(answer.status, 503, "{why}: {answer}");
    answer.expect_detail(503, "Service temporarily unavailable.");
    assert_eq!(world.try_log_in("admin", ADMIN_PASSWORD).await.status, 200, "{why}");
}

async fn posts_are_back(world: &TestApp, why: &str) {
    eventually(why, async || (world.bearer.get("/posts").await.status == 200).then_some(())).await;
}

fn is_complaint(line: &str) -> bool {
    line.contains("no secure connection to posts-service") && line.contains("WARN")
}

#[tokio::test]
async fn a_gateway_trusts_only_who_proves_to_be_its_posts_service() {
    for (why, other, hosts, valid) in [
        ("another authority", true, &["127.0.0.1"][..], Valid::Today),
        ("another name", false, &["posts.example", "127.0.0.2"], Valid::Today),
        ("too old", false, &["127.0.0.1"], Valid::Once),
    ] {
        let certified = Certified::new();
        let (own, elsewhere) = (posts_certificate(&certified), Authority::new());
        let good = certified.authority.certify("good", &["127.0.0.1"], Valid::Today);
        let signer = if other { &elsewhere } else { &certified.authority };
        own.replace_with(&signer.certify("wrong", hosts, valid));
        let world = plan(&certified, &own).start().await;
        only_posts_are_out(&world, why).await;
        world.front().logs(why, is_complaint).await;

        // Mended without a restart of either.
        own.replace_with(&good);
        world.posts().hang_up();
        world.posts().logs(why, |line| line.contains("certificates of gRPC were read again")).await;
        posts_are_back(&world, why).await;
    }
}

#[tokio::test]
async fn a_gateway_without_a_good_certificate_gets_no_posts() {
    for (why, other, valid) in [
        ("one of another authority", true, Valid::Today),
        ("one whose time is over", false, Valid::Once),
    ] {
        let certified = Certified::new();
        let elsewhere = Authority::new();
        let signer = if other { &elsewhere } else { &certified.authority };
        let shown = signer.certify("shown", &[], valid);
        let plan = plan(&certified, &posts_certificate(&certified))
            .with_file("POSTS_CLIENT_TLS_CERT_FILE", &shown.certificate)
            .with_file("POSTS_CLIENT_TLS_KEY_FILE", &shown.key);
        let world = plan.start().await;
        only_posts_are_out(&world, why).await;
        world.front().logs(why, is_complaint).await;

        shown.replace_with(&certified.caller);
        world.front().hang_up();
        posts_are_back(&world, why).await;
    }
    let certified = Certified::new();
    let plan = plan(&certified, &posts_certificate(&certified));
    let plan = plan.without("POSTS_CLIENT_TLS_CERT_FILE").without("POSTS_CLIENT_TLS_KEY_FILE");
    let world = plan.start().await;
    only_posts_are_out(&world, "no certificate").await;
    world.front().logs("no certificate", is_complaint).await;
}

#[tokio::test]
async fn plain_text_and_encryption_do_not_meet() {
    let certified = Certified::new();
    let encrypted = plan(&certified, &posts_certificate(&certified));
    let files = |prefix: &str, names: [&str; 3]| names.map(|name| format!("{prefix}_{name}_FILE"));
    let of_caller = files("POSTS_CLIENT_TLS", ["CA", "CERT", "KEY"]);
    let of_service = files("POSTS_TLS", ["CLIENT_CA", "CERT", "KEY"]);
    for (why, missing) in [("a plain gateway", &of_caller), ("a plain service", &of_service)] {
        let plan = missing.iter().fold(encrypted.clone(), |plan, name| plan.without(name));
        let world = plan.start().await;
        only_posts_are_out(&world, why).await;
        assert!(!world.posts().stderr().contains("panicked"), "{}", world.posts().stderr());
    }
}
