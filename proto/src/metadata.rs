//! Names of request metadata (gRPC's headers).

/// The actor's access token, as `Bearer <token>` (RFC 6750, section 2.1).
pub const AUTHORIZATION: &str = "authorization";

/// The address of the end user, as text of an IPv4 or IPv6 address; believed from trusted callers
/// only.
pub const CLIENT_ADDRESS: &str = "x-client-address";

/// The id of the request that a call is made for, a [`RequestId`](crate::RequestId); several, separated
/// by commas, where requests share a call. Believed from trusted callers only.
pub const REQUEST_ID: &str = "x-request-id";
