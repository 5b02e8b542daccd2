//! Runs the real auth-service for the tests of its clients.
//!
//! [`start`] starts a service on a copy of a database with a few users (`users`). [`AuthFixture`] (`service`) is the
//! running service. Its calls pass through a layer (`layer`), which records them in [`Calls`], and fails them or edits
//! their responses on demand.

#![expect(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

mod layer;
mod service;
mod users;

pub use layer::{Call, Calls, refusal};
pub use service::AuthFixture;
pub use users::{credential, credential_name, one_time_code, recovery_code, start};
