//! Networks: the file of the product that clients.rs of the HTTP server needs.

#[path = "../../../../../crates/program/src/cidr_set.rs"]
pub mod cidr_set;
