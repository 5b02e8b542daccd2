//! Gateway, auth-service and posts-service in one process, by default on embedded databases.
//!
//! - `commands`: the program and its commands.
//! - `serve`: the life of the program, in order; `listeners` binds and announces, `services` opens and serves.
//! - [`settings`]: flags and environment.
//! - `data_dir`: the folder of generated secrets and embedded databases.
//! - `databases`: the databases of users and posts.
//! - `in_memory`: connections between the parts, with the same gRPC clients and no socket.
//! - `banner`: the text printed at the start, also in a container, and where the password of the user admin is.

mod banner;
mod commands;
mod data_dir;
mod databases;
pub mod in_memory;
mod listeners;
mod serve;
mod services;
pub mod settings;
