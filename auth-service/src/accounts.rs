//! The use cases: what users and services may ask for, and the rules.
//!
//! One file per use case. They know neither tonic nor SQL; their outcomes are [`AccountError`]s.

mod authorize;
mod error;
mod list_users;
mod login;
mod register;
mod seed;
mod set_user_role;
mod username;
mod verify_credentials;

pub use authorize::{Bearer, Requirement};
pub use error::AccountError;
pub use list_users::{LARGEST_PAGE, PageRequest, UserPage};
pub use seed::{ADMIN_USERNAME, AdminPassword, SeedError};
pub use username::{Username, UsernameRule};

use crate::{
    password::Hasher,
    store::{SharedReads, UserStore},
    token::Tokens,
};
use std::sync::Arc;

/// The use cases over one store.
#[derive(Clone)]
pub struct Accounts {
    store: Arc<dyn UserStore>,
    /// Every look-up of one user goes through here and shares its statement with the others.
    reads: SharedReads,
    hasher: Hasher,
    tokens: Tokens,
    password_min_length: usize,
}

impl Accounts {
    /// `password_min_length` is in bytes.
    pub fn new(
        store: Arc<dyn UserStore>,
        hasher: Hasher,
        tokens: Tokens,
        password_min_length: usize,
    ) -> Self {
        let reads = SharedReads::new(&store);
        Self { store, reads, hasher, tokens, password_min_length }
    }
}
