//! Names the query parameters of the sign-in page. Apart from `return`, they have no value, and each makes the page
//! show a notice.

/// The maximum length of a return address, in bytes, so that a redirect fits in the 4 KiB to which proxies limit the
/// headers of a response.
pub const MAX_RETURN_ADDRESS_LEN: usize = 2048;

/// The parameter with the address to which the person returns after signing in.
pub const RETURN: &str = "return";

/// The parameter that reports a lost form, which was sent after the session had ended.
pub const UNSAVED: &str = "unsaved";

/// The parameter that reports an address that is too long to return to.
pub const TOO_LONG: &str = "too_long";

/// The parameter that reports two valid sessions of the browser for one address.
pub const TWO_SESSIONS: &str = "two_sessions";
