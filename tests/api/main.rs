//! Tests what clients of the API see.
//!
//! Each file has the cases of one subject, such as an endpoint, and lists them in a macro such as
//! `for_all_deployments!`. A case runs in one, two or all four deployments, depending on where its
//! outcome can differ.
//!
//! - Accounts and credentials: `register`, `login`, `logout`, `passwords`, `password_links`,
//!   `second_factor`, `sessions`, `api_keys`, and who may do what in `access` and `roles`.
//! - Browsers and proxies: `sign_in`, `sign_in_cookie`, `account_page`, `forward_auth`,
//!   `ext_authz`.
//! - Other protocols and services: `grpc`, `basic`, `posts`, `posts_grpc`.
//! - Logs, the record, metrics and traces: `audit`, `audit_record`, `metrics`, `traces`,
//!   `request_ids`, and in `secrets` what must not be in them.
//! - Abuse: `rate_limits`, `guessing`, `additions`, `slow_clients`, `hidden_refusals`.
//!
//! Several files lend their helpers to others, such as `sessions::create_session`. Faults of
//! processes and networks are in `tests/faults`.

#![expect(
    clippy::too_many_lines,
    reason = "a test tells its story in order, with its values in sight"
)]

mod access;
mod account_page;
mod additions;
mod api_keys;
mod audit;
mod audit_record;
mod authorization_header;
mod basic;
mod concurrent;
mod concurrent_admins;
mod created_users;
mod credentials_audit;
mod disabled_users;
mod embedded;
mod ended_sessions;
mod ext_authz;
mod extra_roles;
mod forward_auth;
mod groups;
mod grpc;
mod guessing;
mod health;
mod hidden_refusals;
mod host_header;
mod http_api_doc;
mod json_bodies;
mod keys_as_passwords;
mod keys_of_others;
mod listing;
mod listing_query_plan;
mod login;
mod logout;
mod me;
mod metrics;
mod openapi;
mod over_tls;
mod password_links;
mod password_writes;
mod passwords;
mod posts;
mod posts_audit;
mod posts_grpc;
mod posts_listing;
mod public_endpoints;
mod rate_limits;
mod register;
mod renamed_users;
mod request_ids;
mod roles;
mod routing;
mod second_factor;
mod secrets;
mod seed;
mod session_creation;
mod session_races;
mod sessions;
mod sign_in;
mod sign_in_cookie;
mod slow_clients;
mod tokens;
mod traces;
mod user_ids;
mod usernames;
mod users;
