//! Limits of the contracts, for services and clients alike.

/// Items of a `BatchAuthorize`. With the longest tokens, that is a message of 1 MiB; with the longest lists of
/// roles too, one of 1.3 MiB.
pub const MAX_AUTHORIZE_BATCH: usize = 256;

/// Items of a `BatchVerifyCredentials`. With the longest credentials that are remembered and the longest lists
/// of roles, that is a message of 0.7 MiB.
pub const MAX_CREDENTIALS_BATCH: usize = 256;

/// Names of roles in a requirement: as many as a service can have.
pub const MAX_ROLES: usize = 35;

/// Ids of a `BatchGetUsers`.
pub const MAX_USERNAME_BATCH: usize = 256;

/// Ids of a `BatchGetPosts`. With the longest posts, that is a message of 13 MiB.
pub const MAX_POST_BATCH: usize = 64;

/// Unicode scalar values of the title of a post.
pub const MAX_TITLE_CHARS: usize = 200;

/// Unicode scalar values of the content of a post.
pub const MAX_CONTENT_CHARS: usize = 50_000;

/// Bytes of a post, whatever its characters.
pub const MAX_POST_BYTES: usize = 256 * 1024;

/// A page of posts ends with the one whose content reaches this many bytes in total: 200 of the longest
/// would be a response of 40 MB to an anonymous request.
pub const MAX_PAGE_CONTENT_BYTES: u32 = 2 * 1024 * 1024;

/// Entries of a page of users or posts.
pub const MAX_PAGE_SIZE: i32 = 200;

/// Entries of a page whose request does not set a size.
pub const DEFAULT_PAGE_SIZE: i32 = 50;

/// Bytes of an access token. Ours are much shorter; a longer one is rejected unread.
pub const MAX_TOKEN_LEN: usize = 4 * 1024;

/// The start of every API key, which no access token has.
pub const API_KEY_PREFIX: &str = "rgk_";

/// The start of the token of every session.
pub const SESSION_PREFIX: &str = "rgs_";

/// The start of the token of a session for the cookie of a whole domain, which is no bearer token.
pub const DOMAIN_SESSION_PREFIX: &str = "rgd_";

/// Sessions of a user.
pub const MAX_SESSIONS: usize = 100;

/// API keys of a user.
pub const MAX_API_KEYS: usize = 50;

/// The size of the page that a `page_size` field requests, where 0 means [`DEFAULT_PAGE_SIZE`];
/// `None` for an invalid one.
#[must_use]
pub const fn page_size(requested: i32) -> Option<i32> {
    match requested {
        0 => Some(DEFAULT_PAGE_SIZE),
        1..=MAX_PAGE_SIZE => Some(requested),
        _ => None,
    }
}
