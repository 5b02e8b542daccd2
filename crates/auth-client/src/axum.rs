//! Extractors, a layer and error responses for axum services.
//!
//! - [`CurrentUser`]: an extractor for any user with a valid token.
//! - [`RequireRole`]: a layer that only users with some roles pass.
//! - [`BearerToken`]: the access token of a request (RFC 6750, section 2.1).
//! - [`ApiError`]: an error as a status and `{"detail": …}`; the only mapping from the contract's
//!   reasons to HTTP.

mod api_error;
mod bearer_token;
mod current_user;
mod require_role;

pub use api_error::ApiError;
pub use bearer_token::BearerToken;
pub use current_user::CurrentUser;
pub use require_role::{RequireRole, RequireRoleLayer, RequiredRoles};
