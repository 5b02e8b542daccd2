//! bcrypt for servers: independent hashes interleaved on one core.
//!
//! One bcrypt leaves most of a core idle, for it is a chain of loads that wait for each other.
//! A login service has many to do at once, so this crate runs up to six of them in lanes side by
//! side on each core: about four times the hashes per second of one after the other.
//!
//! From the outside in:
//!
//! - [`engine`](Engine): what a service holds. [`Engine::hash`] and [`Engine::verify`] return
//!   futures of any runtime; `settings`, `stats`, `error`, `outcome` and `share` are its words.
//! - `board`: what all workers share under one lock: who waits, who works, what is refused.
//!   `queue` keeps the waiting in fair order over shares; `pace` knows how fast the machine is.
//! - `worker`: one low-priority thread for each core. Every millisecond it lets finished hashes out
//!   of its `bank` of lanes, drops those nobody waits for and takes waiting ones in. `job` is what
//!   travels from the engine through the queue into a lane and answers from there.
//! - `lane`, `password`, `stored`, `cost`: one bcrypt, from password to `$2b$…`.
//! - `kernel`: the hot loop, one for each number of lanes; `pi`: Blowfish's tables.
//! - [`self_test`]: known answers through every kernel, to be asked before serving.

mod bank;
mod board;
mod cost;
mod engine;
mod error;
mod job;
mod kernel;
mod lane;
mod outcome;
mod pace;
mod password;
mod pi;
mod queue;
mod self_test;
mod settings;
mod share;
mod stats;
mod stored;
mod worker;

pub use cost::Cost;
pub use engine::Engine;
pub use error::EngineError;
pub use outcome::{Done, Verdict};
pub use self_test::{SelfTestError, self_test};
pub use settings::Settings;
pub use share::Share;
pub use stats::Stats;
