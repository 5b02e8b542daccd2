//! Limits of the contracts, which services enforce and clients keep.

/// The maximum number of items of a `BatchAuthorize`. A message with the longest tokens has 1 MiB. If it also
/// has the longest lists of roles, it has 1.3 MiB, and with the longest lists of groups 2.1 MiB.
pub const MAX_AUTHORIZE_BATCH: usize = 256;

/// The maximum number of items of a `BatchVerifyCredentials`. A message with the longest credentials that can
/// be cached and the longest lists of roles has 0.7 MiB.
pub const MAX_CREDENTIALS_BATCH: usize = 256;

/// The maximum number of roles in a requirement, which is also the maximum that a service can have.
pub const MAX_ROLES: usize = 35;

/// The maximum number of groups of a user, of an API key and in a requirement.
pub const MAX_GROUPS: usize = 100;

/// The maximum number of ids of a `BatchGetUsers`.
pub const MAX_USERNAME_BATCH: usize = 256;

/// The maximum number of ids of a `BatchGetPosts`. A response with the longest posts has 13 MiB.
pub const MAX_POST_BATCH: usize = 64;

/// The maximum length of a post's title, in Unicode scalar values.
pub const MAX_TITLE_CHARS: usize = 200;

/// The maximum length of a post's content, in Unicode scalar values.
pub const MAX_CONTENT_CHARS: usize = 50_000;

/// The maximum size of a post in bytes, whatever its characters are.
pub const MAX_POST_BYTES: usize = 256 * 1024;

/// The total size of contents, in bytes, at which a page of posts ends early. Without it, 200 of the longest
/// posts would be a response of 40 MB to an anonymous request.
pub const MAX_PAGE_CONTENT_BYTES: u32 = 2 * 1024 * 1024;

/// The maximum number of entries on a page of users, posts or the record.
pub const MAX_PAGE_SIZE: i32 = 200;

/// The number of entries on a page if the request does not set a size.
pub const DEFAULT_PAGE_SIZE: i32 = 50;

/// The maximum length of an access token, in bytes. The service issues much shorter ones and rejects a longer
/// one without parsing it.
pub const MAX_TOKEN_LEN: usize = 4 * 1024;

/// The prefix of every API key. No access token begins with it.
pub const API_KEY_PREFIX: &str = "rgk_";

/// The prefix of the token of every session that is not for the cookie of a whole domain.
pub const SESSION_PREFIX: &str = "rgs_";

/// The prefix of the token of a session for the cookie of a whole domain. Such a token is not accepted as a
/// bearer token.
pub const DOMAIN_SESSION_PREFIX: &str = "rgd_";

/// The maximum number of sessions of a user.
pub const MAX_SESSIONS: usize = 100;

/// The maximum number of API keys of a user.
pub const MAX_API_KEYS: usize = 50;

/// Returns the size of the page that a `page_size` field requests, where 0 means [`DEFAULT_PAGE_SIZE`], or
/// `None` if the field is invalid.
#[must_use]
pub const fn page_size(requested: i32) -> Option<i32> {
    match requested {
        0 => Some(DEFAULT_PAGE_SIZE),
        1..=MAX_PAGE_SIZE => Some(requested),
        _ => None,
    }
}
