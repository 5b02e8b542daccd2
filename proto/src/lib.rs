//! The gRPC contracts of Rolegate.
//!
//! - [`auth_v1`]: messages, client and server of `rolegate.auth.v1`, generated from
//!   `rolegate/auth/v1/auth.proto`, which documents every call and field.
//! - [`posts_v1`]: the same of `rolegate.posts.v1`, from `rolegate/posts/v1/posts.proto`.
//! - [`envoy_auth_v3`]: what auth-service reads and writes of Envoy's API, from
//!   `envoy/service/auth/v3/external_auth.proto`.
//! - [`Reason`]: the stable error reasons, with their codes and HTTP statuses.
//! - [`Role`]: the roles of users.
//! - [`Authorization`]: the credentials in an `Authorization` header.
//! - [`identity_headers`]: how proxies pass the user on to applications.
//! - [`http`]: errors as HTTP responses.
//! - [`limits`]: the sizes of pages, batches, tokens and posts.
//! - [`has_invisible`]: finds characters that names and titles may not have.
//! - [`time`]: times in messages and in JSON.
//! - [`metadata`]: the names of request metadata; [`RequestId`]: the value of one of them.
//! - [`AUTH_DESCRIPTORS`], [`POSTS_DESCRIPTORS`]: the encoded descriptors, for server reflection.

pub mod authorization;
mod generated;
pub mod http;
pub mod identity_headers;
pub mod limits;
pub mod metadata;
mod reason;
mod role;
mod text;
pub mod time;

pub use authorization::Authorization;
pub use generated::{AUTH_DESCRIPTORS, POSTS_DESCRIPTORS, auth_v1, envoy_auth_v3, posts_v1};
pub use metadata::{InvalidRequestId, RequestId};
pub use reason::{ERROR_DOMAIN, Reason};
pub use role::{Role, UnknownRole};
pub use text::{decimal_digit, has_blank, has_invisible, is_emoji, is_invisible, shows_nothing};

/// The full name of the auth service in `grpc.health.v1` and in reflection.
pub use auth_v1::auth_service_server::SERVICE_NAME;
