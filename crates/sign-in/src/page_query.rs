//! The query of the page to sign in at. Apart from `return`, its parameters have no value: each asks for a notice.

/// The greatest number of bytes of a return address; proxies limit the headers of an answer to 4 KiB.
pub const MAX_RETURN_ADDRESS_LEN: usize = 2048;

/// The parameter with the address that a person comes back to.
pub const RETURN: &str = "return";

/// The parameter for people whose form was sent after their session had ended.
pub const UNSAVED: &str = "unsaved";

/// The parameter for people whose address is too long to return to.
pub const TOO_LONG: &str = "too_long";

/// The parameter for people whose browser has two valid sessions for one address.
pub const TWO_SESSIONS: &str = "two_sessions";
