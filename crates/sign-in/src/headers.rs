//! Reads headers that must not be ambiguous.

use http::{HeaderMap, HeaderName};

/// The value of a header that is given exactly once.
pub fn single_value(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    value.to_str().ok()
}
