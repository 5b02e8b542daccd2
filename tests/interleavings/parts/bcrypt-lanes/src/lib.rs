//! The password engine, with all files of the product but its kernel, which would take milliseconds of each schedule.

#[path = "../../../../../crates/bcrypt-lanes/src/engine.rs"]
mod engine;
#[path = "../../../../../crates/bcrypt-lanes/src/job.rs"]
mod job;
mod kernel;
#[path = "../../../../../crates/bcrypt-lanes/src/lane.rs"]
mod lane;
#[path = "../../../../../crates/bcrypt-lanes/src/lane_group.rs"]
mod lane_group;
#[path = "../../../../../crates/bcrypt-lanes/src/outcome.rs"]
mod outcome;
#[path = "../../../../../crates/bcrypt-lanes/src/queue.rs"]
mod queue;
#[path = "../../../../../crates/bcrypt-lanes/src/scheduler.rs"]
mod scheduler;
#[path = "../../../../../crates/bcrypt-lanes/src/settings.rs"]
mod settings;
#[path = "../../../../../crates/bcrypt-lanes/src/stored.rs"]
mod stored;
#[path = "../../../../../crates/bcrypt-lanes/src/throughput.rs"]
mod throughput;
#[path = "../../../../../crates/bcrypt-lanes/src/worker.rs"]
mod worker;

pub use engine::Engine;
pub use job::ClientKey;
pub use kernel::{begun, forget_begun};
pub use outcome::{EngineError, Stats, Timed, Verdict};
pub use settings::Settings;
pub use stored::{Cost, stored_cost};
pub use worker::lower_priority;
