//! Hosts a gRPC service that keeps one store. auth-service and posts-service run on it, and
//! rolegate runs both on it in one process.
//!
//! - [`GrpcHost`]: serves a service over TCP and in memory, follows the health of its store, closes it.
//! - [`Probes`], [`Listeners`]: the admin and gRPC listeners of a service that runs as a program of
//!   its own.
//! - [`HostSettings`]: the flags that both services share.
//! - [`check_database`]: the step of `doctor` for a database.

mod database_check;
mod grpc_host;
mod listeners;
mod settings;

pub use database_check::check_database;
pub use grpc_host::{GrpcHost, HostedStore};
pub use listeners::{Listeners, Probes};
pub use settings::HostSettings;
