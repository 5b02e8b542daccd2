//! Checks who somebody is: by a username and a password, and by the code of a second factor.
//!
//! - `login` and `session_creation` sign people in. `basic` checks the credentials of each HTTP Basic
//!   request.
//! - `password_check` and `codes` contain the checks of passwords and codes that they share.

pub(super) mod basic;
pub(super) mod codes;
mod login;
mod password_check;
pub(super) mod session_creation;

use super::{
    changes::Changes, policy::Policy, rate_limit::RateLimiter, sign_in_recorder::SignInRecorder,
};
use crate::{
    password::{CredentialCache, Hasher},
    store::{BatchedReads, UserStore},
    tokens::AccessTokens,
};
use std::sync::Arc;

/// Checks passwords and codes, and signs people in.
pub(crate) struct Authenticator {
    pub(super) store: Arc<UserStore>,
    pub(super) reads: Arc<BatchedReads>,
    pub(super) changes: Changes,
    pub(super) hasher: Hasher,
    /// The verified passwords of HTTP Basic.
    pub(super) cache: CredentialCache,
    pub(super) tokens: AccessTokens,
    pub(super) policy: Arc<Policy>,
    pub(super) login_limiter: Arc<RateLimiter>,
    pub(super) recorder: SignInRecorder,
}
