//! The gRPC contract of Rolegate.
//!
//! - [`auth_v1`]: messages, client and server of `rolegate.auth.v1`, generated from
//!   `rolegate/auth/v1/auth.proto`, which documents every call and every field.
//! - [`Reason`]: the stable error reasons that both sides share.
//! - [`limits`]: what a message may have at the most.
//! - [`metadata`]: names of the request metadata that the contract uses; [`RequestId`]: what one of
//!   them holds.
//! - [`FILE_DESCRIPTORS`]: the encoded descriptors, for server reflection.

pub mod limits;
pub mod metadata;
mod reason;
mod request_id;

pub use reason::{ERROR_DOMAIN, Reason};
pub use request_id::{InvalidRequestId, RequestId};

/// The service by its full name: in `grpc.health.v1`, and in reflection.
pub use auth_v1::auth_service_server::SERVICE_NAME;

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
