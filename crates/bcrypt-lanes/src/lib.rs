//! bcrypt for servers: independent hashes interleaved on one core.
//!
//! A single bcrypt is a chain of dependent loads and leaves most of a core idle. A login service
//! computes many at once, so this crate interleaves up to six of them in lanes on each core: about
//! four times the throughput of hashing sequentially.
//!
//! From the outside in:
//!
//! - `engine`: the public API. [`Engine::hash`] and [`Engine::verify`] return futures for any
//!   runtime; `settings` and `outcome` are its types.
//! - `scheduler`: admission control and dispatch, shared by all workers under one lock. `queue`
//!   orders waiting jobs fairly over clients; `throughput` estimates the speed of this machine.
//! - `worker`: one low-priority thread per core. About once a millisecond it collects finished
//!   hashes from its `lane_group`, drops cancelled and expired jobs, and fills free lanes. A `job`
//!   travels from the engine through the queue into a lane, which completes it.
//! - `lane`, `stored`: one bcrypt, from password to `$2b$…`; `lane` also has the tables of Blowfish.
//! - `kernel`: the hot loop, one instance for each number of lanes.
//! - [`self_test`]: known-answer tests of every kernel, to run before serving.

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
pub use outcome::{EngineError, RefusalCause, Stats, Timed, Verdict};
pub use self_test::self_test;
pub use settings::Settings;
pub use stored::{Cost, stored_cost};
pub use worker::lower_priority;
