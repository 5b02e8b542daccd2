//! Extracts the arguments of handlers from requests, and rejects malformed ones.
//!
//! `credentials` reads `Authorization`. `path_ids` and `query_params` read the ids in the path and the query.
//! `json_body` and `form` read bodies of limited size, and `body_headers` checks what their bytes mean. The order of
//! these checks is fixed, because clients see the first error.

mod body_headers;
pub(crate) mod credentials;
pub(crate) mod form;
pub(crate) mod json_body;
pub(crate) mod path_ids;
pub(crate) mod query_params;
