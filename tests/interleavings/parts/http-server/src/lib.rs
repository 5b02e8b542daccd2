//! What one client is: the file of the product that the limits of auth-service need.

#[path = "../../../../../crates/http-server/src/clients.rs"]
pub mod clients;
