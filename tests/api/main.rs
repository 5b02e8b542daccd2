//! What clients of the API see. The same cases run in every deployment.

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
