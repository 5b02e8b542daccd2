//! The public JSON API of Rolegate: translates HTTP into gRPC and back. It stores nothing: no
//! secrets, no users, no SQL.
//!
//! - [`settings`]: flags and environment variables.
//! - `commands`: the program; [`Gateway`]: the public listeners, for programs that embed them.
//! - `bearer`, `basic`: the route tables of the two variants, with the roles that each route needs.
//! - `forward_auth`: the address of proxies that protect other applications.
//! - `endpoints`: one file per topic; handlers, bodies and OpenAPI annotations.
//! - `extract`: extractors of request bodies, path ids, query parameters and credentials.
//! - `middleware`: what both variants do around every request.
//! - `embedded_pages`: pages whose files are in the program; `console`: those of `/console/`, which are in
//!   `gateway/console/`; `static_file`: how browsers keep them; `logo`: the picture of the pages.
//! - `refusals`: refusals of password checks, paced.
//! - `sign_in`: the pages `/sign-in`, `/sign-out`, `/account` and `/set-password`.
//! - `openapi`: the OpenAPI document, role guards, and Swagger UI.
//! - `fuzzing`: what fuzz targets reach; compiled for them only.

#![cfg_attr(
    test,
    expect(
        clippy::too_many_lines,
        reason = "a test tells its story in order, with its values in sight"
    )
)]

mod basic;
mod bearer;
mod commands;
mod console;
mod embedded_pages;
mod endpoints;
mod extract;
mod forward_auth;
#[cfg(fuzzing)]
pub mod fuzzing;
mod gateway;
mod logo;
mod memory;
mod middleware;
mod openapi;
mod refusals;
pub mod settings;
mod sign_in;
mod state;
mod static_file;
#[cfg(test)]
mod test_support;

pub use gateway::Gateway;
pub use middleware::request_source::IGNORED_ADDRESSES;
