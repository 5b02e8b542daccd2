//! Benchmarks of the services on this machine, relative to a baseline.
//!
//! `bench/run` builds everything and starts this program; `bench/run --help` lists the options.
//!
//! Each command of `bench/run` is a module:
//!
//! - [`compare`] compares live role decisions of the services and the baseline, as a table and a chart.
//! - [`flood`] measures the effect of a login flood on other requests, and [`paging`] pages of a million users.
//! - [`posts`] measures reading posts, [`keys`] API keys against access tokens, and [`ext_authz`] checks of Envoy.
//! - [`proxy`] measures an application behind nginx, and [`import`] measures `user import` and `user export`.
//! - [`peers`] compares with other software, [`scale`] measures growth by cores, and [`many_users`] millions of users.
//!
//! The commands share these modules:
//!
//! - [`target`], [`services`], [`program`], [`nginx`], [`cluster`] and [`users`] start the systems under test and
//!   create their data. All of these systems end with this process. [`baseline`] is a monolith written for comparison.
//! - [`wrk`], [`pgbench`], [`authorizations`], [`http_client`] and [`open_loop`] generate load. Before that,
//!   [`verify_responses`] checks that the systems respond correctly.
//! - [`cores`], [`usage`], [`machine`], [`noise`] and [`statistics`] measure. [`verdict`], [`report`], [`chart`],
//!   [`page`] and [`console`] write the results.

mod authorizations;
mod baseline;
mod chart;
mod cluster;
mod compare;
mod console;
mod cores;
mod ext_authz;
mod flood;
mod http_client;
mod import;
mod keys;
mod machine;
mod many_users;
mod nginx;
mod noise;
mod open_loop;
mod page;
mod paging;
mod peers;
mod pgbench;
mod posts;
mod program;
mod proxy;
mod report;
mod scale;
mod services;
mod statistics;
mod target;
mod usage;
mod users;
mod verdict;
mod verify_responses;
mod wrk;

use baseline::BaselineOptions;
use clap::Parser;
use compare::CompareOptions;
use ext_authz::ExtAuthzOptions;
use flood::FloodOptions;
use import::ImportOptions;
use keys::KeysOptions;
use many_users::ManyUsersOptions;
use paging::PagingOptions;
use peers::PeersOptions;
use posts::PostsOptions;
use proxy::ProxyOptions;
use scale::ScaleOptions;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};

/// The allocator of the services, so that the comparison with the baseline is fair.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The error of any step, which ends the benchmark.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Benchmarks the services against a baseline; the default command is `compare`
#[derive(Debug, Parser)]
#[command(name = "bench/run", args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: CompareOptions,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// GET /profile of the services and the baseline
    Compare(CompareOptions),
    /// GET /profile during a login flood of ten times the capacity
    Flood(FloodOptions),
    /// GET /posts/{id}, which involves two services, relative to GET /profile
    Posts(PostsOptions),
    /// GET /profile with API keys, relative to access tokens
    Keys(KeysOptions),
    /// GET /users and GET /users/{id} with a million users
    Paging(PagingOptions),
    /// Import and export of a million users
    Import(ImportOptions),
    /// Checks of Envoy at auth-service: latency at a constant rate, and throughput relative to Authorize
    ExtAuthz(ExtAuthzOptions),
    /// An application behind nginx, with and without decisions
    Proxy(ProxyOptions),
    /// GET /profile with millions of users: index and cache of PostgreSQL
    ManyUsers(ManyUsersOptions),
    /// GET /profile with 1, 2, 4 … cores for the services, and others for PostgreSQL and wrk
    Scale(ScaleOptions),
    /// The same endpoints on FastAPI and better-auth, which it installs from packages
    Peers(PeersOptions),
    /// Serve the baseline
    #[command(hide = true)]
    Baseline(BaselineOptions),
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let work = async {
        match options.command {
            None => compare::compare(options.compare).await,
            Some(Command::Compare(options)) => compare::compare(options).await,
            Some(Command::Flood(options)) => flood::flood(options).await,
            Some(Command::Posts(options)) => posts::posts(options).await,
            Some(Command::Keys(options)) => keys::keys(options).await,
            Some(Command::Paging(options)) => paging::paging(options).await,
            Some(Command::Import(options)) => import::import(options).await,
            Some(Command::ExtAuthz(options)) => ext_authz::ext_authz(options).await,
            Some(Command::Proxy(options)) => proxy::proxy(options).await,
            Some(Command::ManyUsers(options)) => many_users::many_users(options).await,
            Some(Command::Scale(options)) => scale::scale(options).await,
            Some(Command::Peers(options)) => peers::peers(options).await,
            Some(Command::Baseline(options)) => baseline::serve(options).await,
        }
    };
    // Dropping this future ends every process that it has started.
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = stop_signal() => Err("stopped".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::progress(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn stop_signal() {
    let on = |kind| async move {
        match signal(kind) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = on(SignalKind::interrupt()) => {}
        () = on(SignalKind::terminate()) => {}
        () = on(SignalKind::hangup()) => {}
    }
}
