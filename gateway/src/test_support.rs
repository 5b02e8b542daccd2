//! Support for unit tests.

mod fake_auth;
mod response;

pub(crate) use fake_auth::{Calls, fake_auth};
pub(crate) use response::{TestResponse, authorized, bare, json, send};
