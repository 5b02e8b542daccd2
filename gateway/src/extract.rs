//! Extracts the arguments of handlers from requests, and rejects malformed ones.
//!
//! `credentials` reads `Authorization`. `path_ids` and `query_params` read the ids in the path and the query.
//! `json_body` and `form` read bodies of limited size, and `body_headers` checks the headers that describe a body. The
//! order of these checks is fixed, because it decides which error a request with several mistakes gets.

mod body_headers;
pub(crate) mod credentials;
pub(crate) mod form;
pub(crate) mod json_body;
pub(crate) mod path_ids;
pub(crate) mod query_params;
