//! Defines the header `Clear-Site-Data`, which keeps the pages of an ended session from being shown again.

use http::HeaderName;

/// The header that makes a browser delete the pages of a host from its cache, including those that the *back* button
/// shows.
pub const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// The value that clears the pages and keeps the cookies.
pub const CACHE: &str = "\"cache\"";
