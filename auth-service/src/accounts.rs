//! The use cases of auth-service. They decide who may do what, know neither tonic nor SQL, and fail
//! with `AccountError`, except for `seed`.
//!
//! Each request calls a method of `Accounts`. The method authorizes the actor, checks the
//! arguments, and reads through the trait `UserStore`. It passes a change and its `Principal` to
//! `Changes`, which makes and records the change.
//!
//! - `service` defines `Accounts`, the state that all use cases share; `error` defines their error.
//! - `authorize` checks access tokens, sessions and API keys. `requirement` says which roles a
//!   request needs, and `roles` which roles have an effect.
//! - `login` and `verify_credentials` check passwords. They share the check in `credentials` and
//!   the limits in `rate_limit`.
//! - `session_creation` signs people in; `sign_out` ends sessions and revokes access tokens;
//!   `sessions` lists sessions, ends idle ones and restricts sessions to cookies.
//! - `users`, `user_changes`, `user_update`, `passwords`, `password_links`, `second_factor` and
//!   `opaque_tokens` contain the use cases about users, their passwords and other credentials.
//!   `username` contains the rules for usernames, and `paging` cuts lists into pages.
//! - `changes` makes the changes, and logs each of them after its commit.
//! - `sign_ins` puts sign-ins and refusals into the record. `record` lets admins and users read the
//!   record, seals it and removes old rows. `watch` sends the changes of users to other services.
//! - `seed` creates the first admin; `initial_password` reads and removes the file with the
//!   generated password.

mod authenticator;
mod authorizer;
mod changes;
mod credential_manager;
mod error;
mod initial_password;
mod paging;
mod policy;
mod rate_limit;
mod record;
mod requirement;
mod seeder;
mod service;
mod sign_in_recorder;
#[cfg(test)]
mod tests;
mod username;
mod users;

pub(crate) use authenticator::{
    basic::{AuthenticatedUser, BasicCredentials},
    session_creation::{SessionOutcome, SessionRequest, SessionUse},
};
pub(crate) use authorizer::{AuthorizationRequest, TokenSource};
pub(crate) use changes::Changes;
pub(crate) use credential_manager::{
    opaque_tokens::{ApiKeyRequest, check_key_expiry, check_name},
    password_links::{GeneratedLink, PasswordLink, UserWithLink},
};
pub(crate) use error::AccountError;
pub use initial_password::InitialPassword;
pub(crate) use policy::{Policy, SessionLimits};
pub(crate) use record::{
    AuditRequest,
    watch::{WatchItem, WatchItems, WatchStart, Watcher},
};
pub(crate) use requirement::Requirement;
pub use seeder::AdminPassword;
pub(crate) use seeder::{SeedError, Seeder};
pub(crate) use service::Accounts;
pub(crate) use username::{ADMIN_USERNAME, check_new_username};
pub(crate) use users::{
    UserPage, UserPageRequest,
    update::{UserUpdateRequest, rename},
};
