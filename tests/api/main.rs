//! What the services answer: the same cases in every world.

mod access;
mod audit;
mod authorization_header;
mod basic;
mod concurrent;
mod embedded;
mod grpc;
mod guessing;
mod health;
mod json_bodies;
mod listing;
mod login;
mod metrics;
mod openapi;
mod over_tls;
mod public_endpoints;
mod register;
mod request_ids;
mod roles;
mod routing;
mod secrets;
mod seed;
mod slow_clients;
mod tokens;
mod traces;
mod user_ids;
