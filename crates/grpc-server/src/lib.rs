//! How an internal service is served: gRPC over HTTP/2, with health and reflection.
//!
//! - [`GrpcServer`], [`GrpcListener`], [`Connections`]: one service, `grpc.health.v1` and reflection,
//!   under limits; over TCP or within the process.
//! - `guests`: TCP connections under limits, with [`TlsFiles`] as the settings of their encryption;
//!   `in_process`: those of this process.
//! - [`caller`]: whose word about the end user, the request and the trace is believed; `every_call`:
//!   what happens around every call.
//! - [`actor`]: who acts: the access token in the metadata of a request.
//! - [`refusal`]: a reason of the contract as a status.

pub mod actor;
mod call_layer;
pub mod caller;
mod error_status;
mod guests;
mod in_process;
mod readiness_monitor;
mod server;
mod tls_files;

pub use error_status::error_status;
pub use server::{Connections, GrpcListener, GrpcServer};
pub use tls_files::TlsFiles;
