//! Hosts a gRPC service, with health, reflection, limits and telemetry.
//!
//! A [`GrpcServer`] (`server.rs`) serves one service and closes its store at the end. `connection` accepts TCP
//! connections and streams within the process. The layer in `call_layer` is around every call. The layer
//! refuses a malformed head ([`call_head`]), identifies the caller (`caller`), limits messages that arrive
//! slowly (`unfinished_messages`), and adds metrics, a span and the request context. Then the call reaches the
//! handler of the service, which reads its actor by [`actor`] and answers errors by [`error_status`].
//! `readiness_monitor` makes readiness and health follow the store.
//!
//! - [`ServiceProgram`] (`program`) runs such a service as a program of its own. [`HostSettings`] are the flags
//!   of that program.
//! - [`message_limits`] gives some methods a higher limit for messages.
//!
//! This crate knows no service and makes no decision about permissions. It only says whether a caller is
//! trusted to report client addresses, request ids and traces.

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
