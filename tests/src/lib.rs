//! The harness of the end-to-end tests: real processes, real sockets, real stores.
//!
//! - [`TestSetup`]: a deployment to start: store, processes, settings; [`TestApp`]: a running one.
//!   [`for_all_deployments!`] and its siblings run one case as a named test per deployment.
//! - [`TestUser`]: a registered user with a password and a token; [`OpaqueToken`]: its sessions and keys.
//! - [`Api`], [`TestResponse`]: JSON over HTTP; a failed assertion prints the whole response.
//! - [`raw_http`]: HTTP requests byte by byte.
//! - [`token`]: access tokens made by the tests, valid and invalid.
//! - [`SecondFactor`]: a user's second factor; [`totp`]: its one-time codes.
//! - [`grpc`]: generated clients, and assertions on their errors.
//! - [`ext_authz`]: checks as Envoy sends them, and what Envoy reads of the answers.
//! - [`Authority`]: certificates, valid and invalid.
//! - [`Process`]: a started program; [`program`]: which there are, and their files.
//! - [`Replicas`]: several auth-services behind one name, for any number of gateways.
//! - [`TestDatabase`]: a database of one test; [`HeldUsername`]: a name that others wait for;
//!   [`postgres`]: its server, and clusters with TLS.
//! - [`SmallDisk`]: a file system that a test fills.
//! - [`ClientStage`]: the deployment of `clients/conformance.json`; [`TlsReplica`]: its replica with
//!   mutual TLS.
//! - [`TcpProxy`]: cuts or stalls connections between programs.
//! - [`TransactionPooler`]: a pooler like `PgBouncer`.
//! - [`Collector`]: receives OpenTelemetry spans.
//! - [`proof`](proof()): the figures of a test for `tests/prove`.
//! - [`eventually`]: waits for a state instead of for a time.

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
