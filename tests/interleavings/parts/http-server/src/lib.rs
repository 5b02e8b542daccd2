//! What one client is: the file of the product that the limits of auth-service need.

#![allow(dead_code, reason = "other files of the product use the rest")]

#[path = "../../../../../crates/http-server/src/clients.rs"]
pub mod clients;
