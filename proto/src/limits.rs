//! What the contract allows at the most; both sides hold to it.

/// Items of a `BatchAuthorize`; with the longest tokens it is a message of a megabyte.
pub const MAX_BATCH_SIZE: usize = 256;

/// Bytes of an access token. No token of ours comes near; whatever is longer is not worth the work
/// of looking at it.
pub const MAX_TOKEN_LEN: usize = 4 * 1024;
