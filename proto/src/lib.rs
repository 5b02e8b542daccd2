//! The gRPC contracts of Rolegate.
//!
//! - [`auth_v1`]: messages, client and server of `rolegate.auth.v1`, generated from
//!   `rolegate/auth/v1/auth.proto`, which documents every call and field.
//! - [`posts_v1`]: the same of `rolegate.posts.v1`, from `rolegate/posts/v1/posts.proto`.
//! - [`Reason`]: the stable error reasons, with their codes and HTTP statuses; [`RefusalScope`]: what a
//!   refusal covers.
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
pub mod http;
pub mod identity_headers;
pub mod limits;
pub mod metadata;
mod reason;
mod role;
mod text;
pub mod time;

pub use authorization::Authorization;
pub use metadata::{InvalidRequestId, RequestId};
pub use reason::{ERROR_DOMAIN, REFUSAL_SCOPE, Reason, RefusalScope};
pub use role::{Role, UnknownRole};
pub use text::{has_invisible, is_emoji, is_invisible};

/// The full name of the auth service in `grpc.health.v1` and in reflection.
pub use auth_v1::auth_service_server::SERVICE_NAME;

/// Package `rolegate.auth.v1`.
#[expect(
    clippy::pedantic,
    reason = "generated; the comments of the .proto file are its documentation"
)]
pub mod auth_v1 {
    include!("generated/rolegate.auth.v1.rs");
}

/// Package `rolegate.posts.v1`.
#[expect(
    clippy::pedantic,
    reason = "generated; the comments of the .proto file are its documentation"
)]
pub mod posts_v1 {
    include!("generated/rolegate.posts.v1.rs");
}

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.auth.v1`.
pub const AUTH_DESCRIPTORS: &[u8] = include_bytes!("generated/auth.bin");

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.posts.v1`.
pub const POSTS_DESCRIPTORS: &[u8] = include_bytes!("generated/posts.bin");
