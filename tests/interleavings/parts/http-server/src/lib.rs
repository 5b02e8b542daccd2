//! Includes the one file that the limits of auth-service need, which says which addresses are one client.

#![allow(dead_code, reason = "other files of the product use the rest")]

#[path = "../../../../../crates/http-server/src/clients.rs"]
pub mod clients;
