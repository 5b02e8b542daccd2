//! Tests the limit of login failures with three auth-services, which keep one count for each name.

use e2e::{Api, Process, Replicas, Store, TestSetup, TestUser, answered_calls, eventually};
use serde_json::json;
use std::sync::atomic::{AtomicU32, Ordering};

const LIMIT: usize = 5;
const NAMES: [&str; 12] = [
    "ada", "ben", "cleo", "dan", "eve", "finn", "gil", "hal", "ivy", "jo", "kim", "leo",
];

struct Deployment {
    replicas: Replicas,
    gateways: [Process; 2],
}

impl Deployment {
    async fn start() -> Self {
        let setup = TestSetup::split(Store::Postgres);
        let setup = setup.with("LOGIN_FAILURE_LIMIT", &LIMIT.to_string());
        let replicas = Replicas::start(setup, 3).await;
        let gateways = [replicas.gateway().await, replicas.gateway().await];
        let deployment = Self { replicas, gateways };
        for gateway in 0..2 {
            deployment.wait_until_connected(gateway).await;
        }
        deployment
    }

    fn bearer(&self, gateway: usize) -> Api {
        Api::at(&self.gateways[gateway % 2].address("bearer"))
    }

    /// Waits until the gateway calls each auth-service about at least one name.
    async fn wait_until_connected(&self, gateway: usize) {
        let before = self.logins().await;
        let created = AtomicU32::new(0);
        eventually("logins at every auth-service", async || {
            let number = created.fetch_add(1, Ordering::Relaxed);
            self.register(gateway, &format!("extra {gateway} {number}"))
                .await;
            let now = self.logins().await;
            now.iter()
                .zip(&before)
                .all(|(now, before)| now > before)
                .then_some(())
        })
        .await;
    }

    /// Returns how many logins each auth-service has answered.
    async fn logins(&self) -> Vec<u64> {
        let mut logins = Vec::new();
        for auth in &self.replicas.auths {
            logins.push(answered_calls(auth, "Login").await);
        }
        logins
    }

    /// Registers a user and logs in, neither of which is a failure.
    async fn register(&self, gateway: usize, username: &str) -> TestUser {
        TestUser::register(&self.bearer(gateway), username).await
    }

    async fn log_in(&self, gateway: usize, username: &str, password: &str) -> u16 {
        let body = json!({ "username": username, "password": password });
        self.bearer(gateway).post("/login", &body).await.status
    }

    async fn guess(&self, gateway: usize, username: &str) -> u16 {
        self.log_in(gateway, username, "wrong").await
    }
}

#[tokio::test]
async fn limit_of_a_name_is_exact_over_three_replicas_and_two_gateways() {
    let deployment = Deployment::start().await;
    for name in NAMES {
        let mut answers = Vec::new();
        for guess in 0..LIMIT + 3 {
            let basic = Api::at(&deployment.gateways[guess % 2].address("basic"));
            answers.push(match guess % 3 {
                0 => {
                    basic
                        .with_basic(name, "wrong")
                        .get("/protected")
                        .await
                        .status
                }
                _ => deployment.guess(guess, name).await,
            });
        }
        assert_eq!(
            answers,
            [[401; LIMIT].as_slice(), &[429; 3]].concat(),
            "{name}"
        );
    }
}

#[tokio::test]
async fn checks_of_the_current_password_count_at_the_same_replica() {
    let deployment = Deployment::start().await;
    let user = deployment.register(0, "zoe").await;
    let body = json!({ "current_password": "wrong", "new_password": "open sesame" });
    let mut answers = Vec::new();
    for guess in 0..LIMIT {
        let api = deployment.bearer(guess).with_token(&user.token);
        answers.push(api.put("/profile/password", &body).await.status);
    }
    assert_eq!(answers, [400; LIMIT]);
    for gateway in 0..2 {
        assert_eq!(deployment.guess(gateway, "zoe").await, 429);
    }
}

#[tokio::test]
async fn losing_a_replica_moves_only_its_own_names() {
    let mut deployment = Deployment::start().await;
    let mut homes = Vec::new();
    for name in NAMES {
        let before = deployment.logins().await;
        for _ in 0..LIMIT {
            assert_eq!(deployment.guess(0, name).await, 401, "{name}");
        }
        let after = deployment.logins().await;
        let answered = after
            .iter()
            .zip(&before)
            .map(|(after, before)| after - before);
        let home = answered
            .collect::<Vec<_>>()
            .iter()
            .position(|count| *count == LIMIT as u64);
        homes.push(home.unwrap_or_else(|| panic!("{name} has no home: {before:?} {after:?}")));
    }
    let lost = homes[0];
    assert!(homes.iter().any(|home| *home != lost), "{homes:?}");
    deployment.replicas.auths[lost].kill().await;
    eventually("the next replica of a name", async || {
        (deployment.guess(1, NAMES[0]).await == 401).then_some(())
    })
    .await;
    for (name, home) in NAMES.into_iter().zip(&homes).skip(1) {
        let expected = if *home == lost { 401 } else { 429 };
        assert_eq!(
            deployment.guess(1, name).await,
            expected,
            "{name} of {homes:?}, lost {lost}"
        );
    }
}
