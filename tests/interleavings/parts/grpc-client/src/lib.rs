//! The balancer and its batches, with all files of the product but those of the network. `discovery` and `connection`
//! stand in for DNS, TCP and HTTP/2, and `failure_log` for the log of failures.

#![allow(dead_code, reason = "other files of the product use the rest")]

#[path = "../../../../../crates/grpc-client/src/affinity.rs"]
mod affinity;
#[path = "../../../../../crates/grpc-client/src/balancer.rs"]
mod balancer;
#[path = "../../../../../crates/grpc-client/src/call.rs"]
mod call;
#[path = "../../../../../crates/grpc-client/src/call_batcher.rs"]
mod call_batcher;
#[path = "../../../../../crates/grpc-client/src/client_span.rs"]
mod client_span;
#[path = "../../../../../crates/grpc-client/src/connect_error.rs"]
mod connect_error;
mod connection;
mod discovery;
#[path = "../../../../../crates/grpc-client/src/dns_watcher.rs"]
mod dns_watcher;
#[path = "../../../../../crates/grpc-client/src/error.rs"]
mod error;
mod failure_log;
#[path = "../../../../../crates/grpc-client/src/hedge.rs"]
mod hedge;
#[path = "../../../../../crates/grpc-client/src/replica_monitor.rs"]
mod replica_monitor;
#[path = "../../../../../crates/grpc-client/src/replica_set.rs"]
mod replica_set;

pub mod calls;
pub mod replicas;

pub use balancer::BalancedChannel;
pub use call::{CALL_TIMEOUT, Call, CallContext, Client};
pub use call_batcher::{CallBatcher, ReplicaBatchers};
pub use connection::Stream;
pub use discovery::{InvalidAddress, ServiceInfo};
pub use error::{CallError, ServiceError};
