//! gRPC clients for services with many replicas.
//!
//! - [`BalancedChannel`]: the transport of generated clients, as in `AuthServiceClient::new(channel)`.
//!   It sends each call to the least loaded healthy replica behind a DNS name, or all calls about one
//!   key to the same replica.
//! - [`ServiceInfo`]: what the channel must know about the service it calls.
//! - [`call`], [`read`], [`retry_until`]: deadlines that this side enforces; calls that change nothing
//!   are also sent to another replica (`hedge`) and retried; [`open_stream`]: one without an end.
//! - [`CallBatcher`], [`BatchCall`]: concurrent requests share calls; [`ReplicaBatchers`]: by replica.
//! - [`CallContext`], [`authenticated_request`]: the metadata of a call.
//! - [`CallError`]: why a call failed, by the reasons of the contracts.
//! - [`ClientTls`]: TLS from files; [`settings`] (feature `settings`) reads their settings, and
//!   `probe` connects once with them.

mod affinity;
mod balancer;
mod batch_call;
mod call_context;
mod client_span;
mod connect_error;
mod connection;
mod deadline;
mod discovery;
mod dns_watcher;
mod error;
mod failure_log;
mod hedge;
mod picker;
#[cfg(feature = "settings")]
mod probe;
mod replica_monitor;
mod replica_set;
#[cfg(feature = "settings")]
pub mod settings;

pub use balancer::BalancedChannel;
pub use batch_call::{BatchCall, CallBatcher, ReplicaBatchers};
pub use call_context::{CallContext, authenticated_request};
pub use connection::Stream;
pub use deadline::{PASSWORD_TIMEOUT, READ_TIMEOUT, call, open_stream, read, retry_until};
pub use discovery::{InvalidAddress, ServiceInfo};
pub use error::{CallError, ServiceError};
pub use rolegate_grpc_tls::{ClientTls, FileError, Identity};
