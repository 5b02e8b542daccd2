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
//! `opaque_token` has all kinds that are stored, and `revocation` the bounds of a revocation in time. The statements that insert, list, end and re-stamp their rows are in
//! `store/sql/tokens`; `accounts` has the use cases.

mod access_token;
mod opaque_token;
mod revocation;

pub use access_token::{
    AccessTokens, KeySource, Keyring, PROVIDER, SecretTooShort, TOKEN_TTL_SECONDS,
};
pub(crate) use access_token::{VerifiedToken, self_test};
pub(crate) use opaque_token::{
    GeneratedToken, digest, generate_pair_id, generate_pending_sign_in, password_link_digest,
    pending_sign_in_digest,
};
pub use opaque_token::{NewToken, OpaqueToken, TokenBearer, TokenKind, generate_password_link};
pub(crate) use revocation::{
    MAX_CLOCK_SETBACK_SECONDS, MAX_ISSUE_AHEAD_SECONDS, REVOCATION_AHEAD_SECONDS,
};
