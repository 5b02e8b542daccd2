//! Manages the credentials of users: passwords, password links, second factors, API keys and
//! sessions.

pub(super) mod opaque_tokens;
pub(super) mod password_links;
mod passwords;
pub(super) mod second_factor;
mod sessions;
mod sign_out;
