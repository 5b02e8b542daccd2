//! The use cases: what users and services may ask for, and the rules.
//!
//! One file per use case. They know neither tonic nor SQL; their outcomes are [`AccountError`]s.
//! `password_check` is what login, Basic and a change of the password share, `new_password` what
//! every change of a password does; `attempts` limits guessing.

mod attempts;
mod authorize;
mod change_password;
mod delete_user;
mod error;
mod get_user;
mod initial_password;
mod list_users;
mod login;
mod new_password;
mod origin;
mod password_check;
mod policy;
mod register;
mod seed;
mod set_password;
mod set_user_role;
mod username;
mod usernames;
mod verify_credentials;

pub use authorize::{Bearer, Requirement};
pub use error::AccountError;
pub use initial_password::InitialPassword;
pub use list_users::{LARGEST_PAGE, PageRequest, UserPage};
pub use origin::Origin;
pub use policy::Policy;
pub use seed::{ADMIN_USERNAME, AdminPassword, SeedError};
pub use username::{Username, UsernameRule};
pub use usernames::MOST_NAMES;

use crate::{
    password::{Hasher, memory::Memory},
    store::{BatchedReads, UserStore},
    token::Tokens,
};
use attempts::Attempts;
use std::sync::Arc;

/// The use cases over one store. Clones share everything.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn UserStore>,
    /// Every look-up of one user goes through here and shares its statement with the others.
    reads: BatchedReads,
    hasher: Hasher,
    memory: Memory,
    tokens: Tokens,
    policy: Policy,
    initial_password: InitialPassword,
    logins: Attempts,
    registrations: Attempts,
}

impl Accounts {
    /// Fails only where the system has no randomness.
    pub fn new(
        store: Arc<dyn UserStore>,
        hasher: Hasher,
        tokens: Tokens,
        policy: Policy,
        initial_password: InitialPassword,
    ) -> Result<Self, getrandom::Error> {
        let reads = BatchedReads::new(&store);
        let memory = Memory::new(policy.basic_memory)?;
        let logins = Attempts::new(policy.login_failure_limit);
        let registrations = Attempts::new(policy.registration_limit);
        Ok(Self {
            store,
            reads,
            hasher,
            memory,
            tokens,
            policy,
            initial_password,
            logins,
            registrations,
        })
    }
}
