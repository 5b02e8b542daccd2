//! The use cases. They depend on neither tonic nor SQL and fail with `AccountError`.
//!
//! - `Accounts`, in `service`: what they share.
//! - `authorize`: access tokens, sessions and API keys; `requirement`: what is required of their users; `roles`: which
//!   roles have an effect.
//! - `login`, `verify_credentials`: passwords, with `credentials`, the check that they share, and
//!   `rate_limit`.
//! - `users`, `user_changes`, `user_update`, `passwords`, `password_links`, `second_factor`, `opaque_tokens`, `sessions`:
//!   reads and changes, by topic; `paging`, `searches`: pages of them; `session_creation`: how people sign in;
//!   `sign_out`: how sessions and access tokens end; `write`: the one way to make a change.
//! - `sign_ins`: puts sign-ins and refusals into the record.
//! - `record`: what happened, as admins and users read it; `watch`: the changes of users, as services
//!   follow them.
//! - `seed`: the first admin; `initial_password`: the file with its generated password.
//! - `username`: the rules of a username.

mod authorize;
mod credentials;
mod error;
mod initial_password;
mod login;
mod opaque_tokens;
mod paging;
mod password_links;
mod passwords;
mod rate_limit;
mod record;
mod requirement;
mod roles;
mod searches;
mod second_factor;
mod seed;
mod service;
mod session_creation;
mod sessions;
mod sign_ins;
mod sign_out;
#[cfg(test)]
mod tests;
mod user_changes;
mod user_update;
mod username;
mod users;
mod verify_credentials;
mod watch;
mod write;

pub(crate) use authorize::{AuthorizationRequest, TokenSource};
pub(crate) use error::AccountError;
pub use initial_password::InitialPassword;
pub(crate) use opaque_tokens::{ApiKeyRequest, TokensToDelete, check_key_expiry, check_name};
pub(crate) use password_links::{PasswordLink, UserWithLink};
pub(crate) use passwords::set_password;
pub(crate) use record::{AuditPage, AuditRequest};
pub(crate) use requirement::Requirement;
pub use seed::AdminPassword;
pub(crate) use seed::{ADMIN_USERNAME, SeedError};
pub(crate) use service::{Accounts, Policy, SessionLimits};
pub(crate) use session_creation::{SessionOutcome, SessionRequest, SessionUse};
pub(crate) use user_update::{UserUpdateRequest, rename};
pub(crate) use username::check_new_username;
pub(crate) use users::{UserPage, UserPageRequest};
pub(crate) use verify_credentials::{AuthenticatedUser, BasicCredentials};
pub(crate) use watch::{WatchItem, WatchItems, WatchStart, Watcher};
