//! The extractors of handlers.

mod body_headers;
pub(crate) mod credentials;
pub(crate) mod form;
pub(crate) mod json_body;
pub(crate) mod path_ids;
pub(crate) mod query_params;
