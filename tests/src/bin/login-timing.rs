//! Measures whether the time of a rejected login reveals that its username exists.
//!
//! ```sh
//! cargo build --release -p auth-service -p gateway -p e2e
//! cargo run --release -p e2e --bin login-timing -- 1000
//! ```
//!
//! Times logins with unknown usernames and logins with a wrong password, the given number of each
//! and in random order: sequentially and in bursts of eight, without and with a constant load of
//! logins. Prints Welch's t for each: beyond 4.5 in either direction, the two are distinguishable.
//!
//! With `fast` as second argument, hashes have cost 4. That is a 256th of the work, which amplifies
//! differences outside of the hash. With `second-factor` hashes are fast, too, and the wrong
//! passwords belong to a user with a second factor. Any other second argument is the stored hash of
//! the user whose passwords are wrong, as an import writes it:
//!
//! ```sh
//! cargo run --release -p e2e --bin login-timing -- 100 '$argon2id$v=19$m=65536,t=3,p=4$…'
//! ```

#![expect(clippy::print_stdout, reason = "prints what it measures")]

use e2e::{Api, Store, TestSetup};
use serde_json::json;
use std::{
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

const BURST: usize = 8;
const LIMIT: f64 = 4.5;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let pairs: usize = arguments
        .next()
        .map_or(1000, |text| text.parse().expect("a number of pairs"));
    let setup = TestSetup::split(Store::Sqlite);
    let kind = arguments.next();
    let is_fast = matches!(kind.as_deref(), Some("fast" | "second-factor"));
    let setup = if is_fast {
        setup
    } else {
        setup.with_real_hashes()
    };
    let app = setup.start().await;
    let ann = app.user("ann").await;
    if kind.as_deref() == Some("second-factor") {
        ann.turn_on_second_factor(&app.bearer).await;
    }
    if let Some(hash) = kind.filter(|_| !is_fast) {
        assert!(!hash.contains('\''), "a hash");
        let update = format!(r#"UPDATE "user" SET password = '{hash}' WHERE username = 'ann'"#);
        app.database.execute(update.leak()).await;
    }
    println!("{pairs} of each; t is Welch's, of unknown usernames against wrong passwords");
    for is_loaded in [false, true] {
        for burst in [1, BURST] {
            let load = Load::start(&app.bearer, is_loaded);
            let (unknown, wrong) = measure(&app.bearer, pairs, burst).await;
            load.stop().await;
            report(is_loaded, burst, &unknown, &wrong);
        }
    }
}

/// A constant load of logins, or none.
struct Load {
    stop: Arc<AtomicBool>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Load {
    fn start(api: &Api, wanted: bool) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (api, seen) = (api.clone(), Arc::clone(&stop));
        let task = wanted.then(|| {
            tokio::spawn(async move {
                while !seen.load(Ordering::Relaxed) {
                    log_in(&api, "somebody else", "a password").await;
                }
            })
        });
        Self { stop, task }
    }

    async fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(task) = self.task {
            task.await.expect("the load was answered");
        }
    }
}

/// Measures the seconds that each refusal takes: first for unknown usernames, then for wrong
/// passwords.
async fn measure(api: &Api, pairs: usize, burst: usize) -> (Vec<f64>, Vec<f64>) {
    let coin = RandomState::new();
    let (mut unknown, mut wrong) = (Vec::new(), Vec::new());
    for round in 0..(2 * pairs).div_ceil(burst * 2) {
        let mut asked = Vec::new();
        for place in 0..burst {
            let first_is_unknown = coin.hash_one((round, place)).is_multiple_of(2);
            asked.extend([first_is_unknown, !first_is_unknown]);
        }
        for group in asked.chunks(burst) {
            let logins = group.iter().map(|is_unknown| {
                let api = api.clone();
                let (is_unknown, name) = (*is_unknown, format!("stranger {round}"));
                tokio::spawn(async move {
                    let name = if is_unknown { name.as_str() } else { "ann" };
                    (is_unknown, log_in(&api, name, "not the password").await)
                })
            });
            for login in logins.collect::<Vec<_>>() {
                let (is_unknown, seconds) = login.await.expect("answered");
                if is_unknown {
                    unknown.push(seconds);
                } else {
                    wrong.push(seconds);
                }
            }
        }
    }
    (unknown, wrong)
}

async fn log_in(api: &Api, username: &str, password: &str) -> f64 {
    let body = json!({ "username": username, "password": password });
    let start = Instant::now();
    let response = api.post("/login", &body).await;
    let seconds = start.elapsed().as_secs_f64();
    response.expect_detail(401, "Invalid username or password.");
    seconds
}

fn report(is_loaded: bool, burst: usize, unknown: &[f64], wrong: &[f64]) {
    let (mean_unknown, mean_wrong) = (mean(unknown), mean(wrong));
    let t = (mean_unknown - mean_wrong) / (error(unknown) + error(wrong)).sqrt();
    println!(
        "{:<12} bursts of {burst}: {} unknown {:.3} ms, {} wrong {:.3} ms, t = {t:+.2} {}",
        if is_loaded { "under load," } else { "idle," },
        unknown.len(),
        mean_unknown * 1e3,
        wrong.len(),
        mean_wrong * 1e3,
        if t.abs() < LIMIT {
            "(not distinguishable)"
        } else {
            "(DISTINGUISHABLE)"
        },
    );
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn mean(sample: &[f64]) -> f64 {
    sample.iter().sum::<f64>() / sample.len() as f64
}

/// Returns the variance of the sample divided by its size, which is the square of the mean's
/// standard error.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn error(sample: &[f64]) -> f64 {
    let (mean, size) = (mean(sample), sample.len() as f64);
    sample
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / (size - 1.0)
        / size
}
