//! Includes the code and the descriptors that `tests/proto-generator` makes of the contracts.

#![expect(
    clippy::pedantic,
    reason = "the comments of the .proto files are the documentation"
)]

/// Messages, client and methods of the package `rolegate.auth.v1`, from `rolegate/auth/v1/auth.proto`.
pub mod auth_v1 {
    include!("generated/rolegate.auth.v1.rs");
}

/// Messages, client and methods of the package `rolegate.posts.v1`, from `rolegate/posts/v1/posts.proto`.
pub mod posts_v1 {
    include!("generated/rolegate.posts.v1.rs");
}

/// The part of Envoy's package `envoy.service.auth.v3` that auth-service reads and writes, from
/// `envoy/service/auth/v3/external_auth.proto`.
pub mod envoy_auth_v3 {
    include!("generated/envoy.service.auth.v3.rs");
}

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.auth.v1`.
pub const AUTH_DESCRIPTORS: &[u8] = include_bytes!("generated/auth.bin");

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.posts.v1`.
pub const POSTS_DESCRIPTORS: &[u8] = include_bytes!("generated/posts.bin");
