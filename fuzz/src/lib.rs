//! Helpers of the fuzz targets: second implementations of what the product reads. They are simple and slow, and
//! written independently of the product.
//!
//! - `envoy` makes requests of Envoy, and turns them into HTTP headers.
//! - `form` reads forms and queries.
//! - `members` reads JSON objects with repeated members.
//! - `request` makes HTTP requests for the extractors of the gateway.

pub mod envoy;
pub mod form;
pub mod members;
pub mod request;
