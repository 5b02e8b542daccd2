//! Names of request metadata (gRPC's headers).

/// The access token of the actor, as `Bearer <token>` (RFC 6750, section 2.1).
pub const AUTHORIZATION: &str = "authorization";

/// The IPv4 or IPv6 address of the end user. Services use it from trusted callers only.
pub const CLIENT_ADDRESS: &str = "x-client-address";

/// The [`RequestId`](crate::RequestId) of the request that a call serves; several, separated by commas,
/// where requests share a call. Services use it from trusted callers only.
pub const REQUEST_ID: &str = "x-request-id";
