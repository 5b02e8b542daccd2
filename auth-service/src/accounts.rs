//! The use cases of auth-service. They decide who may do what, know neither tonic nor SQL, and fail
//! with `AccountError`, except for `Users::seed_admin`.
//!
//! Each use case is a method of a service, which has only the fields that its methods need. The method
//! authorizes the actor, checks the arguments, and reads from the `UserStore`. It passes a
//! change and its `Principal` to `Changes`, which makes and records the change.
//!
//! - `services` builds the services. `policy` contains the operator's settings, and says which roles
//!   have an effect.
//! - `Authorizer` checks access tokens, sessions and API keys, and compares the role with the
//!   `Requirement` of the request. It also ends idle sessions.
//! - `Authenticator` checks passwords and the codes of second factors: for logins, new sessions and
//!   HTTP Basic. `rate_limit` limits the attempts.
//! - `Users` reads, creates, changes and deletes users, and creates the first admin. It also changes
//!   passwords, second factors, password links, API keys and sessions, and signs people out.
//!   `username` and `token_name` contain the rules for usernames, and for the names of API keys and
//!   sessions. `initial_password` reads and removes the file with the generated password of the
//!   first admin.
//! - `Groups` manages groups and the memberships of users.
//! - `Record` lets admins and users read the record, in the pages that `paging` cuts. It seals the
//!   record, removes old rows, and sends the changes of users to other services.
//! - `Changes` makes the changes, and logs each of them after its commit. `SignInRecorder` puts
//!   sign-ins and refusals into the record.
//!
//! `error` defines the error of the use cases. `Users`, `Groups` and `Record` call the `Authorizer`, and
//! `Users` also calls the `Authenticator`. Neither of these two calls back, and neither needs the
//! other.

mod access_end;
mod authenticator;
mod authorizer;
mod changes;
mod error;
mod groups;
mod initial_password;
mod paging;
mod policy;
mod rate_limit;
mod record;
mod services;
mod sign_in_recorder;
#[cfg(test)]
mod tests;
mod token_name;
mod username;
mod users;

pub(crate) use access_end::{RequestedEnd, check_key_expiry};
pub(crate) use authenticator::{
    basic::{AuthenticatedUser, BasicCredentials},
    session_creation::{SessionOutcome, SessionRequest, SessionUse},
};
pub(crate) use authorizer::{AuthorizationRequest, TokenSource};
pub(crate) use changes::Changes;
pub(crate) use error::AccountError;
pub(crate) use groups::{RequestedMembership, check_group_name};
pub use initial_password::InitialPassword;
pub(crate) use paging::{Page, PageRequest};
pub(crate) use policy::{Policy, Requirement, SessionLimits};
pub(crate) use record::{
    AuditRequest,
    watch::{WatchItem, WatchStart, Watcher},
};
pub(crate) use services::Services;
pub(crate) use token_name::check_name;
pub(crate) use username::{ADMIN_USERNAME, check_new_username};
pub use users::seed::AdminPassword;
pub(crate) use users::{
    Users,
    api_keys::ApiKeyRequest,
    list::{UserPage, UserPageRequest},
    seed::SeedError,
    update::{UserUpdateRequest, new_end, rename},
};
