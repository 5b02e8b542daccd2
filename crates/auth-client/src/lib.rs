//! How an internal service asks auth-service.
//!
//! - [`AuthClient`]: one method per call of the contract, each with a deadline of its own.
//!   Calls are balanced over all replicas; concurrent decisions share calls without staleness.
//! - [`CallError`]: why a call has no good answer, by the contract's reasons.
//! - [`User`], [`Role`], [`Requirement`]: what the calls speak of.
//! - [`service_client`]: the same connections, deadlines and errors for clients of other services.
//! - [`ClientTls`]: the encryption of the connections, from files.
//! - [`settings`] (feature `settings`): flags and environment of programs that ask auth-service.
//! - [`metrics`] (feature `metrics`): how many share a call, for programs that tell numbers.
//! - [`axum`] (feature `axum`): `CurrentUser` and `RequireRole` protect endpoints of an axum
//!   service; `ApiError` is an error as JSON over HTTP.

mod authorizations;
#[cfg(feature = "axum")]
pub mod axum;
mod call_context;
mod call_span;
mod client;
mod connection;
mod deadline;
mod error;
#[cfg(feature = "metrics")]
pub mod metrics;
mod place;
mod replica;
mod replicas;
mod requirement;
pub mod service_client;
#[cfg(feature = "settings")]
pub mod settings;
mod shared_call;
mod user;
mod usernames;

pub use call_context::CallContext;
pub use client::{AuthClient, UserPage, UserQuery};
pub use connection::Stream;
pub use error::{CallError, ServiceError};
pub use place::InvalidAddress;
pub use requirement::Requirement;
pub use rolegate_grpc_tls::{ClientTls, File, FileError, Identity};
pub use rolegate_proto::{Reason, RequestId, Role};
pub use user::User;
