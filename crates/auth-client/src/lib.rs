//! The client of auth-service for other services.
//!
//! - [`AuthClient`], and [`ActingClient`] for calls on behalf of a user: one method for each call of the
//!   contract, with a deadline. Calls are balanced over all replicas; concurrent role decisions share
//!   calls and never use a stale role.
//! - [`User`], [`Role`], [`Requirement`], [`ApiKey`], [`Session`], [`PasswordLink`], [`SecondFactor`],
//!   [`AuditEntry`]: the types of these calls.
//! - [`UserWatcher`]: the changes of users, for services that keep something of theirs.
//! - [`CallError`], [`CallContext`], [`ClientTls`] and others: from `rolegate-grpc-client`.
//! - [`settings`] (feature `settings`): the settings of programs that call auth-service.
//! - [`DECISIONS`], [`USERNAMES`] (feature `metrics`): the sizes of batches.
//! - [`axum`] (feature `axum`): `CurrentUser` and `RequireRole` protect the endpoints of an axum
//!   service; `ProxyUser` is the user whom a proxy in front of it names; `ApiError` is an error as an HTTP response.
//! - [`testing`] (feature `testing`): the real services, for tests.

mod acting_client;
#[cfg(feature = "axum")]
pub mod axum;
mod client;
mod connections;
mod credential_checks;
mod decisions;
mod response_time;
mod session;
#[cfg(feature = "settings")]
pub mod settings;
#[cfg(feature = "testing")]
pub mod testing;
mod user;
mod user_changes;
mod usernames;

pub use acting_client::{
    ActingClient, ApiKey, ApiKeyInput, AuditEntry, AuditPage, AuditQuery, Bearer, CredentialKind,
    PasswordLink, SecondFactor, SecondFactorEnrolment, UserPage, UserQuery, UserTimes, UserUpdate,
};
pub use client::{AuthClient, NewSession, SessionUse, SignInStep, TwoStepSignIn};
pub use credential_checks::AcceptedPassword;
#[cfg(feature = "metrics")]
pub use decisions::DECISIONS;
pub use decisions::Requirement;
pub use rolegate_grpc_client::{
    BalancedChannel, CallContext, CallError, ClientTls, FileError, Identity, InvalidAddress,
    ServiceError, Stream,
};
pub use rolegate_proto::{Reason, RequestId, Role};
pub use session::Session;
pub use user::User;
pub use user_changes::{
    UserChange, UserEvent, UserWatcher, WatchError, WatchPosition, WatchProgress,
};
#[cfg(feature = "metrics")]
pub use usernames::USERNAMES;
