//! The public JSON API of Rolegate: translates HTTP into gRPC and back. Holds no secret, no state
//! of users, no SQL.
//!
//! - [`settings`]: what the program can be told.
//! - [`run`]: the program's life; [`Gateway`]: its public listeners, for programs that have more.
//! - `bearer`, `basic`: the route tables of the two variants: every route and who may.
//! - `endpoints`: one file per endpoint; each handler only translates, and its annotation says what
//!   the document says of it.
//! - `openapi`: the document of a variant, and the pages that show it.
//! - `json_body`, `user_id`, `post_id`, `basic_credentials`: what handlers ask of a request.
//! - `cors`: pages of other origins that may call.
//! - `message`: the success body that most endpoints share; `role_name`: roles in bodies.
//! - `every_request`: what happens around each request of both variants, in order; of its parts,
//!   `unread_body`, `panics`, `who_asks` (with `client_address`), `request_span` and `measured` have
//!   files of their own.

#[cfg(test)]
mod answer;
mod basic;
mod basic_credentials;
mod bearer;
mod client_address;
mod cors;
mod endpoints;
mod every_request;
#[cfg(test)]
mod fake_auth;
mod gateway;
mod json_body;
mod measured;
mod message;
mod openapi;
mod panics;
mod path_integer;
mod post_id;
mod request_span;
mod role_name;
mod run;
pub mod settings;
mod unread_body;
mod user_id;
mod who_asks;

pub use gateway::Gateway;
pub use run::run;
