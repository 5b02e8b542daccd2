//! Hosts a gRPC service, with health, reflection, limits and telemetry.
//!
//! A [`GrpcServer`] (`server.rs`) serves the methods of one service and closes its store at the end. `connection`
//! accepts TCP connections and streams within the process. `incoming_calls` handles every call: a malformed
//! head is refused and the caller is identified (`call`), messages that arrive slowly are limited
//! (`unfinished_messages`), and metrics, a span and the request context are added. Then the handler of its method is
//! looked up, which the service has registered with [`Methods`] (`methods`). The handler gets the message and the
//! [`Call`], and turns its errors into statuses with [`error_status`]. `readiness_monitor` makes readiness and health follow the store.
//!
//! [`ServiceProgram`] (`program`) runs such a service as a program of its own. [`HostSettings`] are the flags of that
//! program.
//!
//! This crate knows no service and makes no decision about permissions. It only says whether a caller is
//! trusted to report client addresses, request ids and traces.

mod call;
mod connection;
mod error_status;
mod incoming_calls;
mod methods;
mod program;
mod readiness_monitor;
mod server;
mod unfinished_messages;

pub use call::{Call, IGNORED_ADDRESSES};
pub use connection::certificate_name;
pub use error_status::{error_status, log_error};
pub use methods::{MAX_LONG_MESSAGE, MethodTable, Methods, Next, ResponseFuture};
pub use program::{HostSettings, ServiceProgram};
pub use server::{GrpcServer, InMemoryCallers, InMemoryStreams, bind};
