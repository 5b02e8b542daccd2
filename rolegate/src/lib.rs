//! Gateway, auth-service and posts-service in one process, by default on embedded databases.
//!
//! - `commands`: the program and its commands; `serve`: opens, connects and serves its three parts.
//! - [`settings`]: flags and environment.
//! - `data_dir`: the folder of generated secrets and embedded databases.
//! - `databases`: the databases of users and posts.
//! - `in_memory`: connections between the parts, with the same gRPC clients and no socket.
//! - `banner`: the text printed at the start, also in a container.

mod banner;
mod commands;
mod data_dir;
mod databases;
pub mod in_memory;
mod serve;
pub mod settings;
