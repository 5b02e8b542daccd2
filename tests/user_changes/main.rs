//! The stream of user changes has each acknowledged change once, and in one order for all watchers.
//!
//! Two gateways and two auth-services share a database (`stage`). Writers change users through the
//! API and by commands of the operator (`writer`). Each user has one writer at a time, so the order
//! of a user's changes is known (`history`).
//!
//! Meanwhile watchers follow `WatchUsers` at both replicas (`watcher`). They break off, and
//! continue after the last revision that they stored. Some of them take a snapshot now and then.
//! Replicas are killed and started again. At the end, `check` compares what the watchers saw with
//! the history, and `record` compares the record and the stored users with it.
//!
//! `USER_CHANGES` is the number of acknowledged changes: 300 by default, 1,000 for
//! `tests/run --prove`, and 100,000 for the long form. `USER_CHANGES_SEED` repeats the choices of a
//! run. `failover` does the same while PostgreSQL fails over. `tests/mutants/run` plants faults into
//! the product and expects that this test finds them.

#![expect(
    clippy::too_many_lines,
    reason = "a test tells its story in order, with its values in sight"
)]

mod check;
mod dice;
mod failover;
mod history;
mod record;
mod scenario;
mod stage;
mod watcher;
mod writer;

use e2e::{Store, TestDatabase, TestSetup};
use scenario::Scenario;
use stage::Stage;
use std::{env, sync::Arc};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_seen_once_and_in_order_on_postgres() {
    run(Store::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_change_is_seen_once_and_in_order_on_sqlite() {
    run(Store::Sqlite).await;
}

async fn run(store: Store) {
    let database = TestDatabase::create(store).await;
    let stage = Arc::new(Stage::start(TestSetup::split(store), &database.url()).await);
    let scenario = Scenario::start(&stage, wanted()).await;
    let restarts = stage.restart_replicas(&scenario, wanted()).await;
    let checked = scenario.finish().await;
    print(&format!("{store:?}: {checked}"));
    checked.prove(restarts, 0);
    drop((stage, database));
}

/// Returns the number of acknowledged changes to make.
fn wanted() -> usize {
    env::var("USER_CHANGES").map_or(300, |text| text.parse().expect("USER_CHANGES is a number"))
}

#[expect(
    clippy::print_stdout,
    reason = "the counts are the result of the long form"
)]
fn print(text: &str) {
    println!("{text}");
}
