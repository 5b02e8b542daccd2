//! Includes the one file about networks that clients.rs of the HTTP server needs.

#[path = "../../../../../crates/program/src/cidr_set.rs"]
pub mod cidr_set;
