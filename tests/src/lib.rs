//! The harness of the end-to-end tests, with real processes, real sockets and real stores.
//!
//! A test describes a deployment as a [`TestSetup`] and starts it as a [`TestApp`], on a
//! [`TestDatabase`] of its own. [`for_all_deployments!`] and its siblings run one case as a named
//! test for each deployment. Tests send requests with [`Api`], whose assertions print the whole
//! response, and act as a [`TestUser`].
//!
//! Users and credentials:
//!
//! - [`TestUser`]: a registered user with a password and an access token. [`OpaqueToken`] is a
//!   session or an API key.
//! - [`token`]: access tokens that tests make themselves, valid and invalid.
//! - [`SecondFactor`]: a user's second factor. [`totp`] computes its one-time codes.
//! - [`Authority`]: certificates, valid and invalid.
//!
//! Requests:
//!
//! - [`Api`] and [`TestResponse`]: JSON over HTTP.
//! - [`raw_http`]: HTTP requests byte by byte.
//! - [`grpc`]: generated clients, and assertions on their errors.
//! - [`ext_authz`]: checks as Envoy sends them, and what Envoy reads from the answers.
//!
//! Programs and what surrounds them:
//!
//! - [`Process`]: a started program. [`program`] lists the programs and finds their files.
//! - [`Replicas`]: several auth-services behind one name, for any number of gateways.
//! - [`ClientStage`]: the deployment of `clients/conformance.json`. [`TlsReplica`] is its replica
//!   with mutual TLS.
//! - [`TestDatabase`]: a database of one test. [`HeldUsername`] is a name that others wait for.
//!   [`postgres`] is the server, and clusters with TLS. [`DatabaseClock`] is the clock by which
//!   memberships and accounts end.
//! - [`TransactionPooler`]: a connection pooler like `PgBouncer`.
//! - [`TcpProxy`]: cuts or stalls connections between programs.
//! - [`SmallDisk`]: a file system that a test fills.
//! - [`Collector`]: receives OpenTelemetry spans.
//!
//! Waiting and reporting:
//!
//! - [`eventually`]: waits for a state instead of for a time.
//! - [`proof`](proof()): prints the figures of a test for `tests/prove`.

#![expect(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "assertions for tests: panicking is their purpose"
)]

mod api;
mod certificates;
mod client_stage;
mod collector;
mod database;
mod database_clock;
mod deployments;
mod eventually;
pub mod ext_authz;
pub mod grpc;
pub mod postgres;
mod process;
pub mod program;
mod proof;
pub mod raw_http;
mod replicas;
pub mod second_factor;
mod small_disk;
mod tcp_proxy;
mod test_app;
mod test_setup;
mod test_user;
pub mod token;
pub mod totp;
mod transaction_pooler;

pub use api::{Api, TestResponse, until_served};
pub use certificates::{Authority, Certificate, Validity};
pub use client_stage::{CaseUser, ClientStage, TlsReplica};
pub use collector::{CollectedSpan, Collector};
pub use database::{HeldUsername, LockedTable, Store, StoredUser, TestDatabase};
pub use database_clock::{DatabaseClock, timestamp};
pub use eventually::{eventually, within_bounds};
pub use process::{Exit, Process};
pub use program::Program;
pub use proof::proof;
pub use replicas::{Replicas, answered_calls};
pub use second_factor::SecondFactor;
pub use small_disk::SmallDisk;
pub use tcp_proxy::TcpProxy;
pub use test_app::TestApp;
pub use test_setup::{ADMIN_PASSWORD, SECOND_FACTOR_KEY, SIGNING_SECRET, TestSetup};
pub use test_user::{OpaqueToken, TestUser};
pub use transaction_pooler::{Sessions, TransactionPooler};
