//! Simulates the programs' own code deterministically. A gateway, three auth-services, two posts-services and their
//! clients run in one thread, on a simulated network (turmoil), with simulated clocks and random numbers (mad-turmoil).
//! A seed decides what clients do and what fails, and the same seed gives the same run, byte for byte.
//!
//! ```sh
//! tests/long/simulation              # many seeds
//! tests/long/simulation --seed 7     # one of them again, with everything that happens
//! ```
//!
//! `run` runs one seed. It starts the `programs` and the `clients`, and applies the faults that `faults` has drawn from
//! the seed. The clients call the gateway by `http`, draw their choices by `dice`, and note what they saw in a `history`.
//! At the end, `properties` checks the history. The databases are SQLite files, whose statements
//! run in the same thread (`crates/sql-store/src/test_support/simulated.rs`).
//!
//! These things fail (`faults`). Links are cut in one or both directions, held back, or slow. A link may lose a
//! segment, after which the connection is dead and neither end knows. Programs crash and start again. Reads and writes
//! of the databases are slow or fail, and the answer to a write may be lost after the write. The database's clock steps
//! by as much as `docs/backup-and-recovery.md` allows.
//!
//! These properties must hold (`properties`):
//!
//! 1. No answer is stale: a request that begins after a role change, disabling, sign-out or new password was
//!    acknowledged is decided by the acknowledged state.
//! 2. No acknowledged change, post or edit is lost, and no refused one is made. A read of a post shows its last
//!    acknowledged edit.
//! 3. Every call ends within the time that the documents give (`http::bound`).
//! 4. While the gateway reaches the same auth-services, a client guesses at most `LOGIN_FAILURE_LIMIT` passwords of a
//!    name in a minute. Otherwise this limit holds for each process that started or was cut off meanwhile.
//! 5. After the last fault, everything works again within 30 seconds.
//!
//! These are not simulated, but tested elsewhere:
//!
//! - PostgreSQL, its connections and its failover
//! - the pools and the locks of SQLite: a transaction is made at once, and only the delays and errors before and after
//!   it are simulated
//! - TLS, the admin server, signals, the command line, and reloads of files
//! - threads: the password engine's workers are tasks, and a slice of their work takes a millisecond of simulated
//!   time; imported hashes and the blocklist use threads and are left out
//! - parallel execution: one task runs at a time, and another can run only at an `await`
//! - retransmission: a segment that is lost stays lost, so cut connections do not continue after the cut
//! - clocks of hosts: a host's clock starts at zero with the host and never steps, but no decision depends on it
//! - failing name servers: the replicas of a name are always found
//! - separate processes: metrics and the memory of what was logged are shared by all programs
//! - second factors, API keys, password links, and the followers of user changes but posts-service

#[cfg(simulation)]
mod clients;
#[cfg(simulation)]
mod dice;
#[cfg(simulation)]
mod faults;
#[cfg(simulation)]
mod history;
#[cfg(simulation)]
mod http;
#[cfg(simulation)]
mod outcome;
#[cfg(simulation)]
mod programs;
#[cfg(simulation)]
mod properties;
#[cfg(simulation)]
mod run;

#[cfg(simulation)]
fn main() -> std::process::ExitCode {
    run::main()
}

#[cfg(not(simulation))]
fn main() -> std::process::ExitCode {
    use std::io::Write as _;
    let needed = "RUSTFLAGS='--cfg simulation --cfg tokio_unstable', as tests/long/simulation does";
    let _ = writeln!(std::io::stderr(), "simulation: build it with {needed}");
    std::process::ExitCode::FAILURE
}
