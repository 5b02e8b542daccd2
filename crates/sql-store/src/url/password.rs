//! Passwords that are not percent-encoded. Such a URL has another meaning than it seems to have: a part
//! of the password becomes the name of a host or a database, and would be printed as such.

/// Whether the password seems to continue after the host. A fragment has no meaning in a database URL,
/// and `@` in the name of a database or of a parameter is rarer than in passwords.
pub(super) fn is_unencoded(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (before_query, query) = rest.split_once('?').unwrap_or((rest, ""));
    let path = before_query.split_once('/').map_or("", |(_, path)| path);
    let is_odd =
        |parameter: &str| parameter.split('=').next().unwrap_or_default().contains(['@', '/']);
    rest.contains('#') || path.contains('@') || query.split('&').any(is_odd)
}
