//! The transport of gRPC clients for services that have several replicas.
//!
//! A [`Client`] sends its calls through a [`BalancedChannel`] (`balancer.rs`), as in `Client::new(channel)`, and so may
//! any generated client. The channel picks a replica for each call: the least loaded one, or the one
//! of the call's key (`affinity`). `dns_watcher` resolves the name of the service and runs a `replica_monitor` for
//! each address, which keeps a `connection` open and follows the health of the replica. The watcher and the monitors
//! keep the `replica_set` current, from which the channel picks. If there are several replicas, `hedge` watches the
//! calls, and may send one that changes nothing to a second replica, too. `discovery` finds the addresses of replicas
//! and opens streams to them, `connect_error` and `failure_log` say why a replica cannot be reached, and
//! `client_span` traces calls. In a simulation, `test_support` stands in for the network.
//!
//! The caller's side of a call is in these files:
//!
//! - `call`: a [`Call`] has the deadline and the metadata of a call, says whether it may be sent more than once, and
//!   sends it. [`CallContext`] says which request the call serves.
//! - `call_batcher`: with a [`CallBatcher`], concurrent requests share calls. [`ReplicaBatchers`] has a batcher for
//!   each replica.
//! - `error`: [`CallError`] says why a call failed, by the reasons of the contracts.
//! - [`settings`] (feature `settings`) loads [`ClientTls`] from the files that settings name, and `probe`
//!   checks the connection to each replica, for `doctor`.
//!
//! This crate itself calls only the health service. [`ServiceInfo`] describes the service that a channel calls.

mod affinity;
mod balancer;
mod call;
mod call_batcher;
mod client_span;
mod connect_error;
mod connection;
mod discovery;
mod dns_watcher;
mod error;
mod failure_log;
mod hedge;
#[cfg(feature = "settings")]
mod probe;
mod replica_monitor;
mod replica_set;
#[cfg(feature = "settings")]
pub mod settings;
#[cfg(simulation)]
mod test_support;

pub use balancer::BalancedChannel;
pub use call::{CALL_TIMEOUT, Call, CallContext, Client};
pub use call_batcher::{CallBatcher, ReplicaBatchers};
pub use connection::Stream;
pub use discovery::{InvalidAddress, ServiceInfo};
pub use error::{CallError, ServiceError};
pub use rolegate_grpc_tls::{ClientTls, FileError, Identity, TlsFiles};
