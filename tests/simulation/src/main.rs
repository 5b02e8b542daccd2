//! Deterministic simulation of the programs' own code: a gateway, three auth-services, two posts-services and their
//! clients run in one thread, on a simulated network (turmoil) and with clocks and randomness that follow it
//! (mad-turmoil). A seed decides what clients do and what fails; the same seed gives the same run, byte for byte.
//!
//! ```sh
//! tests/long/simulation              # many seeds
//! tests/long/simulation --seed 7     # one of them again, with everything that happens
//! ```
//!
//! What fails (`faults`): links are cut in both directions or one, held back and slow, and lose a segment, after which a
//! connection is dead and neither end knows; programs crash and start again; reads and writes of the databases are
//! slow or fail, and a write is done whose answer is lost; the database's clock steps, by as much as
//! `docs/backup-and-recovery.md` allows.
//!
//! What must hold (`properties`):
//!
//! 1. No stale answer: a request that begins after a role change, disabling, sign-out or new password was acknowledged
//!    is decided by what was acknowledged.
//! 2. No acknowledged change, post or edit is lost, none that was refused is made, and a read of a post shows its last
//!    acknowledged edit.
//! 3. Every call ends, within the time that the documents give (`http::bound`).
//! 4. A client guesses at most `LOGIN_FAILURE_LIMIT` passwords of a name in a minute while the gateway reaches the same
//!    auth-services, and at most so many at each process that began or was cut off meanwhile.
//! 5. After the last fault, everything works again within 30 seconds.
//!
//! What is not simulated, and tested elsewhere:
//!
//! - the SQL stores: users are in the memory store of the conformance suite, posts in a memory store of this
//!   crate (`stores`), each behind delays and errors that this crate makes up
//! - TLS, the admin server, signals, the command line, and reloads of files
//! - threads: the password engine's workers are tasks, and a slice of their work takes a millisecond of simulated
//!   time; imported hashes and the blocklist use threads and are left out
//! - parallel execution: one thing happens at a time, and only at an `await` another can come between
//! - retransmission: a segment that is lost stays lost, so cut connections do not continue after the cut
//! - clocks of hosts: a host's clock begins anew when it starts and never steps, but no decision depends on it
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
