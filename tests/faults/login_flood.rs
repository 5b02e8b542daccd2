//! Tests a single address that logs in as fast as it is answered.

use e2e::{Api, TestApp, TestSetup, TestUser, eventually, for_split_deployments};
use reqwest::Method;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::task::JoinSet;

for_split_deployments!(a_flood_from_one_address_refuses_no_login_from_another_and_logs_little);

const CONNECTIONS: u32 = 150;
const FLOOD: &str = "203.0.113.5";
const HOME: &str = "198.51.100.7";

/// Clients of one address that log in with a new username each time, until this is dropped.
struct Flood {
    _clients: JoinSet<()>,
    refused: Arc<AtomicU32>,
}

impl Flood {
    fn start(api: &Api) -> Self {
        let refused = Arc::new(AtomicU32::new(0));
        let mut clients = JoinSet::new();
        for client in 0..CONNECTIONS {
            let (api, refused) = (api.clone(), Arc::clone(&refused));
            clients.spawn(async move {
                for number in 0_u32.. {
                    let name = format!("stranger {client} {number}");
                    let status = log_in(&api, FLOOD, &name, "wrong").await;
                    if [429, 503].contains(&status) {
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        Self {
            _clients: clients,
            refused,
        }
    }

    fn refused(&self) -> u32 {
        self.refused.load(Ordering::Relaxed)
    }
}

async fn log_in(api: &Api, from: &str, username: &str, password: &str) -> u16 {
    let body = json!({ "username": username, "password": password });
    api.send_from(from, api.request(Method::POST, "/login").json(&body))
        .await
        .status
}

async fn a_flood_from_one_address_refuses_no_login_from_another_and_logs_little(setup: TestSetup) {
    let setup = setup.with("TRUSTED_PROXIES", "127.0.0.0/8");
    // At most 33 hashes are queued, for two clients: 32 of the flood, and one of the other client.
    let setup = setup.with_hash_time(Duration::from_millis(20)).await;
    let app: TestApp = setup.start().await;
    let ann: TestUser = app.user("ann").await;
    let flood = Flood::start(&app.bearer);
    eventually("refusals", async || (flood.refused() > 100).then_some(())).await;
    for _ in 0..12 {
        assert_eq!(log_in(&app.bearer, HOME, "ann", &ann.password).await, 200);
    }
    eventually("more refusals", async || {
        (flood.refused() > 300).then_some(())
    })
    .await;
    let log = app.gateway().stderr();
    let lines: Vec<_> = log
        .lines()
        .filter(|line| line.contains("refused in the last"))
        .collect();
    assert!(
        !lines.is_empty() && lines.iter().all(|line| line.contains("/login ")),
        "{log}"
    );
    assert!(log.lines().count() < 150, "a line for each refusal: {log}");
}
