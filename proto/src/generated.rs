//! What `tests/generated.rs` writes.

#![expect(
    clippy::pedantic,
    reason = "the comments of the .proto files are the documentation"
)]

/// Package `rolegate.auth.v1`.
pub mod auth_v1 {
    include!("generated/rolegate.auth.v1.rs");
}

/// Package `rolegate.posts.v1`.
pub mod posts_v1 {
    include!("generated/rolegate.posts.v1.rs");
}

/// What auth-service reads and writes of package `envoy.service.auth.v3`.
pub mod envoy_auth_v3 {
    include!("generated/envoy.service.auth.v3.rs");
}

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.auth.v1`.
pub const AUTH_DESCRIPTORS: &[u8] = include_bytes!("generated/auth.bin");

/// The encoded `google.protobuf.FileDescriptorSet` of `rolegate.posts.v1`.
pub const POSTS_DESCRIPTORS: &[u8] = include_bytes!("generated/posts.bin");
