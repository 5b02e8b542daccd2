//! Measures the services on this machine, in one run, against a yardstick.
//!
//! `tests/load/run` builds everything and starts this; `tests/load/run --help` tells the options.
//!
//! - [`compare`]: live role decisions: the services and the yardstick by turns, as a table and a
//!   chart. [`flood`]: what a flood of logins does to everybody else. [`paging`]: pages of a million
//!   users. [`posts`]: reading posts.
//! - [`yardstick`]: a monolith written for this measurement.
//! - [`subject`], [`services`], [`program`], [`cluster`], [`users`]: what is started, and with whom
//!   in it; nothing outlives this process.
//! - [`wrk`], [`pgbench`], [`authorizations`], [`http_client`]: who makes the load;
//!   [`check_answers`]: whether what is loaded answers right.
//! - [`usage`], [`machine`], [`noise`], [`statistics`], [`verdict`], [`report`], [`console`]: what
//!   is told.

mod authorizations;
mod check_answers;
mod cluster;
mod compare;
mod console;
mod flood;
mod http_client;
mod machine;
mod noise;
mod paging;
mod pgbench;
mod posts;
mod program;
mod report;
mod services;
mod statistics;
mod subject;
mod usage;
mod users;
mod verdict;
mod wrk;
mod yardstick;

use clap::Parser;
use compare::CompareOptions;
use flood::FloodOptions;
use paging::PagingOptions;
use posts::PostsOptions;
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use yardstick::YardstickOptions;

/// The allocator of the programs that are measured: the yardstick is to have it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Whatever goes wrong ends the measurement, and says so.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Measures the services against a yardstick, on this machine; without a command: compare
#[derive(Debug, Parser)]
#[command(name = "tests/load/run", args_conflicts_with_subcommands = true)]
struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: CompareOptions,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// GET /profile of the services and of the yardstick by turns
    Compare(CompareOptions),
    /// GET /profile while logins arrive at ten times what can be done
    Flood(FloodOptions),
    /// GET /posts/{id} through two services, and GET /profile through one, by turns
    Posts(PostsOptions),
    /// GET /users and GET /users/{id} with a million users
    Paging(PagingOptions),
    /// The yardstick itself
    #[command(hide = true)]
    Yardstick(YardstickOptions),
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
            Some(Command::Paging(options)) => paging::paging(options).await,
            Some(Command::Yardstick(options)) => yardstick::serve(options).await,
        }
    };
    // Dropped, the work takes everything that it has started along.
    let outcome = tokio::select! {
        outcome = work => outcome,
        () = asked_to_stop() => Err("stopped".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::note(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

async fn asked_to_stop() {
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
