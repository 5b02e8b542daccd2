//! Serves the public JSON API of Rolegate and the pages for people. It translates HTTP into gRPC and stores nothing: no
//! secrets, no users, no SQL.
//!
//! A request enters by one of three listeners, which [`Gateway`] binds. Each listener has a router: `bearer` and
//! `basic` are the route tables of the two variants of the API, and `forward_auth` answers proxies that protect other
//! applications.
//!
//! - `middleware` is around every request. It finds out where the request comes from, logs and counts it, and completes
//!   the response. It also drains a body that the handler did not read.
//! - `extract` reads the credentials, the ids in the path, the query and the body.
//! - `endpoints` has the handlers of the API, one file per topic, with their bodies and OpenAPI annotations. A handler
//!   calls auth-service or posts-service through the clients in `state`.
//! - `refusals` slows down refused password checks, and `memory` limits the memory of bodies and responses.
//! - `openapi` completes the OpenAPI document, guards routes by role, and serves Swagger UI.
//!
//! The pages are no part of the API:
//!
//! - `sign_in` serves `/sign-in`, `/sign-out`, `/account` and `/set-password`, and `console` serves `/console/`, whose
//!   files are in `gateway/console/`.
//! - `embedded_pages` routes files that are embedded in the program, `static_file` lets browsers cache them, and `logo`
//!   checks the operator's picture.
//!
//! [`settings`] reads flags and environment variables, and `commands` is the program itself. `fuzzing` is compiled for
//! fuzz targets only.

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
