//! A gRPC server with health, reflection, limits and telemetry.
//!
//! - [`GrpcServer`]: one service on its store, with `grpc.health.v1` and reflection; `readiness_monitor`:
//!   its readiness and its health follow the store.
//! - [`ServiceProgram`]: a service that runs as a program of its own; [`HostSettings`]: its flags.
//! - `connection`: TCP sockets and streams within the process, and their limits.
//! - `call_layer`: metrics, trace and request context of every call.
//! - [`call_head`]: the headers of gRPC, and the refusal of malformed ones.
//! - `caller`: which callers are trusted, and the client address that they report.
//! - [`message_limits`]: the size of a message; `unfinished_messages`: all that have begun to arrive.
//! - [`actor`]: the access token in the metadata of a call.
//! - [`error_status`]: a reason of the contract as a gRPC status.

pub mod actor;
pub mod call_head;
mod call_layer;
mod caller;
mod connection;
mod error_status;
pub mod message_limits;
mod program;
mod readiness_monitor;
mod server;
mod unfinished_messages;

pub use caller::{IGNORED_ADDRESSES, certificate_name, is_trusted_caller, named_caller};
pub use error_status::{error_status, log_error};
pub use program::{HostSettings, ServiceProgram};
pub use server::{GrpcServer, InMemoryCallers, InMemoryStreams, bind};
