//! bcrypt for servers: independent hashes interleaved on one core.
//!
//! A single bcrypt is a chain of dependent loads and leaves most of a core idle. A login service
//! computes many hashes at once, so this crate interleaves up to eight of them on each core, and
//! six by default. The slot for one hash is a *lane*. The throughput is about four times that of
//! hashing sequentially.
//!
//! A password passes these modules, from the outside in:
//!
//! - `engine` is the public API. [`Engine::hash`] and [`Engine::verify`] turn a password into a `job`
//!   and return a future for any runtime. `settings` and `outcome` have the types of this API.
//! - `scheduler` decides which jobs are admitted and which worker computes them. All workers share it
//!   under one lock. `queue` orders the waiting jobs so that clients get fair shares, and
//!   `throughput` estimates the speed of this machine.
//! - `worker` runs the low-priority threads, by default one for each core. About once a
//!   millisecond, a worker collects finished hashes from its `lane_group`, drops canceled and
//!   expired jobs, and fills free lanes.
//! - `lane` computes one bcrypt and has the tables of Blowfish. `stored` parses and formats `$2b$…`.
//! - `kernel` is the hot loop, compiled once for each number of lanes.
//!
//! [`self_test`] checks every kernel against known answers; a program runs it before it serves.

mod engine;
mod job;
mod kernel;
mod lane;
mod lane_group;
mod outcome;
mod queue;
mod scheduler;
mod self_test;
mod settings;
mod stored;
mod throughput;
mod worker;

pub use engine::Engine;
pub use job::ClientKey;
pub use outcome::{EngineError, Stats, Timed, Verdict};
pub use self_test::self_test;
pub use settings::Settings;
pub use stored::{Cost, stored_cost};
pub use worker::lower_priority;
