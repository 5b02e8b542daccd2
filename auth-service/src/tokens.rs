//! The tokens by which people and programs prove who they are: what makes, recognizes and bounds each kind.
//!
//! | Token | Prefix | Who presents it | Where it is |
//! |---|---|---|---|
//! | access token | none: a JWT | a client, after a login | nowhere: it is signed (`access_token`) |
//! | API key | `rgk_` | a program | a row of `api_key` |
//! | session | `rgs_` | a person, in a cookie or as a bearer token | a row of `api_key` |
//! | session of a domain | `rgd_` | a person, only in a cookie | a row of `api_key` |
//! | password link | `rgl_` | a person who sets a password | a row of `password_link` |
//! | pending sign-in | `rgp_` | a page that asks for the code after the password | a row of `pending_sign_in` |
//!
//! - `access_token` issues and verifies access tokens, and has their keys.
//! - `secret` generates all other tokens, recognizes them, and computes the digests by which they are found.
//! - `opaque_token` has API keys and sessions as they are listed, `bearer` as a decision needs them, and `password_link`
//!   has password links.
//! - `revocation` bounds the time to which a revocation moves `tokens_not_before`.
//!
//! The statements that insert, list, end and re-stamp the rows are in `store/user_store/tokens`; `accounts` has the use cases.

mod access_token;
mod bearer;
mod opaque_token;
mod password_link;
mod revocation;
mod secret;

pub use access_token::{
    AccessTokens, KeySource, Keyring, PROVIDER, SecretTooShort, TOKEN_TTL_SECONDS,
};
pub(crate) use access_token::{VerifiedToken, self_test};
pub use bearer::{TokenBearer, TokenBounds};
pub use opaque_token::{NewToken, OpaqueToken, SessionDetails, TokenDetails, TokenKind};
pub(crate) use password_link::{NewPasswordLink, StoredPasswordLink};
pub(crate) use revocation::{
    MAX_CLOCK_SETBACK_SECONDS, MAX_ISSUE_AHEAD_SECONDS, REVOCATION_AHEAD_SECONDS,
};
pub(crate) use secret::generate_pair_id;
pub use secret::{GeneratedToken, SecretKind};

/// The time for which a pending sign-in is valid, in seconds.
pub(crate) const PENDING_SIGN_IN_SECONDS: u64 = 300;
/// The maximum number of pending sign-ins of a user. Another one ends the oldest.
pub(crate) const MAX_PENDING_SIGN_INS: i64 = 10;

#[cfg(test)]
mod tests;
