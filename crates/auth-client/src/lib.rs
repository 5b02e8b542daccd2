//! The client of auth-service, for other services in Rust.
//!
//! An [`AuthClient`] (`client.rs` and `client/`) has the calls that need no actor. [`AuthClient::acting_for`]
//! makes an [`ActingClient`] (`acting_client.rs`, with a file for each topic), which calls on behalf of a
//! user. They give every call a deadline. Calls with a secret or a check have a method; the others are made with
//! [`ActingClient::send`], which takes the messages of the contract ([`auth_v1`]) as they are.
//!
//! A role decision is in `client/decisions.rs`, where concurrent decisions share a call and never use a stale
//! role. `credential_checks.rs` lets checks of HTTP Basic share calls, and `usernames.rs` does so for lookups of
//! names. All calls use the channels in `connections.rs`, which spread the calls over all replicas. Retries,
//! deadlines and TLS are in `rolegate-grpc-client`. This crate decides nothing by itself and caches no users.
//!
//! - [`User`] is the user of an accepted credential. [`Role`], [`Requirement`], [`NewSession`], [`PasswordLink`]
//!   and [`SecondFactorEnrolment`] are the other types of these calls.
//! - [`UserWatcher`] follows the changes of users, for services that store something about them.
//! - [`CallError`], [`CallContext`], [`ClientTls`] and others are re-exported from `rolegate-grpc-client`.
//! - [`settings`] (feature `program`) has the settings of programs that call auth-service.
//! - [`DECISIONS`] and [`USERNAMES`] (feature `program`) are histograms of the sizes of batches.
//! - [`axum`] (feature `axum`) protects the endpoints of an axum service with `CurrentUser` and
//!   `RequireRole`. `ProxyUser` is the user whom a proxy in front of the service names, and `ApiError` turns
//!   an error into an HTTP response.
//! - [`testing`] (feature `testing`) starts the real services for tests.

mod acting_client;
#[cfg(feature = "axum")]
pub mod axum;
mod client;
mod connections;
mod credential_checks;
mod requirement;
mod response_time;
#[cfg(feature = "program")]
pub mod settings;
#[cfg(feature = "testing")]
pub mod testing;
mod user;
mod user_changes;
mod usernames;

pub use acting_client::{ActingClient, ActingRequest, PasswordLink, SecondFactorEnrolment};
#[cfg(feature = "program")]
pub use client::DECISIONS;
pub use client::{AuthClient, NewSession, SessionUse, SignInStep, TwoStepSignIn};
pub use credential_checks::AcceptedPassword;
pub use requirement::Requirement;
pub use rolegate_grpc_client::{
    BalancedChannel, CallContext, CallError, ClientTls, FileError, Identity, InvalidAddress,
    ServiceError, Stream,
};
pub use rolegate_proto::{GroupName, Reason, RequestId, Role, auth_v1};
pub use user::User;
pub use user_changes::{
    UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
#[cfg(feature = "program")]
pub use usernames::USERNAMES;
