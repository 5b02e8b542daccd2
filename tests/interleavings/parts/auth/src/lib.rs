//! The files of auth-service that have shared state, and the scenarios in which concurrent requests use them.

#![allow(dead_code, reason = "other files of auth-service use the rest")]

#[path = "../../../../../auth-service/src/accounts"]
mod accounts {
    pub(crate) mod rate_limit;
}

#[path = "../../../../../auth-service/src/password"]
mod password {
    pub(crate) mod credential_cache;
    mod foreign_checks;
    // The scenarios of `foreign_checks` are in this module, because it is private here.
    #[path = "../../../tests/interleavings/parts/auth/src/checks.rs"]
    pub mod checks;
}

pub mod limits;
pub mod sharing;

pub use password::checks;

use shuttle::{
    future::block_on,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
};
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};
use tokio::task::JoinHandle;

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Counts what runs at a time.
#[derive(Clone, Default)]
struct Running {
    now: Arc<AtomicU32>,
    most: Arc<AtomicU32>,
}

/// Counts as running until it is dropped.
struct Run(Running);

impl Running {
    fn begin(&self) -> Run {
        self.most
            .fetch_max(self.now.fetch_add(1, SeqCst) + 1, SeqCst);
        Run(self.clone())
    }

    fn assert_at_most(&self, max: u32) {
        let most = self.most.load(SeqCst);
        assert!(most <= max, "{most} ran at the same time");
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, SeqCst);
    }
}

/// Waits for tasks that must not fail.
fn join_all(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    block_on(async {
        for task in tasks {
            task.await.expect("a task");
        }
    });
}
