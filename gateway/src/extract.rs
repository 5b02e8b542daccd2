//! What handlers take from a request.

pub(crate) mod basic_credentials;
pub(crate) mod credentials;
pub(crate) mod form_body;
pub(crate) mod json_body;
pub(crate) mod pagination;
pub(crate) mod path_id;
pub(crate) mod personal_token;
pub(crate) mod rfc3339;
