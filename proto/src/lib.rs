//! Defines the gRPC contracts of Rolegate and the formats that its programs share.
//!
//! The three `.proto` files document every call and field. `tests/proto-generator` makes Rust code of them
//! in `generated/`, and [`auth_v1`], [`posts_v1`] and [`envoy_auth_v3`] are that code: messages, clients, and
//! which message requests which method. The other modules are written by hand. They hold what a service, its
//! clients and the gateway must agree on, so this crate has no network code of its own and knows no settings.
//!
//! - `reason` has [`Reason`]: the stable reason of each gRPC error, with its status codes. [`http`] turns
//!   errors into HTTP responses.
//! - `role` has [`Role`] and [`GroupName`], the names of roles and groups.
//! - [`authorization`] parses the header `Authorization`, and [`identity_headers`] writes and reads the
//!   headers by which a proxy tells an application who the user is.
//! - [`metadata`] names the entries of request metadata and has [`RequestId`], the value of one of them.
//! - [`methods`] has the traits by which a request message names its method; servers register handlers by them.
//! - [`limits`] has the sizes of pages, batches, tokens and posts.
//! - `text` finds the characters that names and titles must not contain; [`time`] checks times in messages
//!   and in JSON.
//! - [`AUTH_DESCRIPTORS`] and [`POSTS_DESCRIPTORS`] are the encoded contracts, for server reflection.

pub mod authorization;
mod generated;
pub mod http;
pub mod identity_headers;
pub mod limits;
pub mod metadata;
pub mod methods;
mod reason;
mod role;
mod text;
pub mod time;

pub use authorization::Authorization;
pub use generated::{AUTH_DESCRIPTORS, POSTS_DESCRIPTORS, auth_v1, envoy_auth_v3, posts_v1};
pub use metadata::{InvalidRequestId, RequestId};
pub use reason::{ERROR_DOMAIN, Reason};
pub use role::{GroupName, Role, UnknownRole};
pub use text::{decimal_digit, has_blank, has_invisible, is_emoji, is_invisible, shows_nothing};

pub use auth_v1::SERVICE_NAME;
