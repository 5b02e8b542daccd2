//! Runs the real auth-service for the tests of its clients.
//!
//! [`start`] starts a service on a copy of a database with a few users (`users`). [`AuthFixture`] (`service`) is the
//! running service. Its calls pass through a layer (`layer`). The layer records them in [`Calls`] (`calls`), by which a
//! test fails or holds calls, ends streams and edits responses.

#![expect(clippy::missing_panics_doc, reason = "a test that cannot go on panics")]

mod calls;
mod layer;
mod service;
mod users;

pub use calls::{Call, Calls};
pub use layer::refusal;
pub use service::AuthFixture;
pub use users::{credential, credential_name, one_time_code, recovery_code, start};
