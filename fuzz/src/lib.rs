//! What targets share: second readings of what the product reads, written for tests and slow.

pub mod envoy;
pub mod form;
pub mod members;
pub mod request;
