//! The gRPC contract of Rolegate.
//!
//! - [`auth_v1`]: messages, client and server of `rolegate.auth.v1`, generated from
//!   `rolegate/auth/v1/auth.proto`, which documents every call and every field.
//! - [`Reason`]: the stable error reasons that both sides share.
//! - [`metadata`]: names of the request metadata that the contract uses.
//! - [`FILE_DESCRIPTORS`]: the encoded descriptors, for server reflection.

pub mod metadata;
mod reason;

pub use reason::{ERROR_DOMAIN, Reason};

/// Package `rolegate.auth.v1`.
#[expect(
    clippy::pedantic,
    reason = "generated; the comments of the .proto file are its documentation"
)]
pub mod auth_v1 {
    tonic::include_proto!("rolegate.auth.v1");
}

/// The encoded `google.protobuf.FileDescriptorSet` of every file of the contract.
pub const FILE_DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
