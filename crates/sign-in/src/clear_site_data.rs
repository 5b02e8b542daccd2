//! The header `Clear-Site-Data`, which keeps the pages of a session that has ended from being shown again.

use http::HeaderName;

/// The header by which a browser forgets what it has kept of the pages of a host, also those that *back* shows.
pub const CLEAR_SITE_DATA: HeaderName = HeaderName::from_static("clear-site-data");

/// The value that clears pages, and no cookies.
pub const CACHE: &str = "\"cache\"";
