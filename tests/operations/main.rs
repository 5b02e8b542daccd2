//! What operators use: commands, secrets, containers.

mod backup;
mod blocklist;
mod commands_doc;
mod completions;
mod compose_engine;
mod compose_file;
mod compose_steps;
mod configuration_doc;
mod doctor;
mod extra_roles;
mod gateway_doctor;
mod hardening;
mod healthcheck;
mod init_secrets;
mod kubernetes;
mod migrate;
mod pepper;
mod pooler;
mod posts_doctor;
mod rolegate_commands;
mod rotate_secrets;
mod secret_files_doc;
mod systemd_unit;
mod user_commands;
mod user_import;
mod user_keys;
