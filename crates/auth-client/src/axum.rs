//! For services built on axum: protect endpoints in two lines.
//!
//! - [`CurrentUser`]: an extractor; any user with a good token.
//! - [`RequireRole`]: a layer; only users whose stored role is listed.
//! - [`BearerToken`]: the access token of a request (RFC 6750, section 2.1).
//! - [`ApiError`]: an error as a status and `{"detail": …}`; the one place where the contract's
//!   reasons become HTTP.

mod api_error;
mod bearer_token;
mod current_user;
mod require_role;

pub use api_error::ApiError;
pub use bearer_token::BearerToken;
pub use current_user::CurrentUser;
pub use require_role::{RequireRole, RequireRoleLayer};
