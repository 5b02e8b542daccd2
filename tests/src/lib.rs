//! The harness of the end-to-end tests: real processes, real sockets, real stores.
//!
//! - [`TestApp`], [`TestSetup`]: the service as a test wants it: which store, how many processes, which
//!   settings. [`for_all_deployments!`] and its like: one case, a named test for each world.
//! - [`TestUser`]: a registered user with a password and a token.
//! - [`Api`], [`TestResponse`]: JSON over HTTP; a failed assertion prints the whole answer.
//! - [`raw_http`]: requests that no HTTP client would send.
//! - [`token`]: access tokens, good and hostile, made without the service.
//! - [`grpc`]: the generated clients, and what a status says.
//! - [`Authority`]: certificates, good and bad.
//! - [`Process`]: a program that was started; [`program`]: where the programs are.
//! - [`TestDatabase`]: a database that belongs to one test; [`postgres`]: the cluster it is in, and
//!   clusters with TLS.
//! - [`TcpProxy`]: a way that can be cut.
//! - [`Collector`]: what OpenTelemetry spans are sent to.
//! - [`eventually`]: waits for a state, within bounds.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "everything here is for tests: it panics when it is not as expected, and is called for that"
)]

mod api;
mod certificates;
mod collector;
mod database;
mod deployments;
mod eventually;
pub mod grpc;
pub mod postgres;
mod process;
pub mod program;
pub mod raw_http;
mod tcp_proxy;
mod test_app;
mod test_setup;
mod test_user;
pub mod token;

pub use api::{Api, TestResponse};
pub use certificates::{Authority, Certificate, Validity};
pub use collector::{CollectedSpan, Collector};
pub use database::{LockedTable, Store, StoredUser, TestDatabase};
pub use eventually::{eventually, until_served, within_bounds};
pub use process::{Exit, Process};
pub use program::Program;
pub use tcp_proxy::TcpProxy;
pub use test_app::TestApp;
pub use test_setup::{ADMIN_PASSWORD, SIGNING_SECRET, TestSetup};
pub use test_user::TestUser;
