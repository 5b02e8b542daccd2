//! What operators use: commands, secrets, containers.

#![expect(
    clippy::too_many_lines,
    reason = "a test tells its story in order, with its values in sight"
)]

mod architecture_doc;
mod audit_commands;
mod audit_emptied;
mod audit_reading;
mod audit_retention;
mod audit_tampering;
mod backup;
mod blocklist;
mod commands_doc;
mod compose_engine;
mod compose_file;
mod compose_steps;
mod configuration_doc;
mod contributing_doc;
mod doctor;
mod end_all;
mod extra_roles;
mod gateway_doctor;
mod group_commands;
mod hardening;
mod healthcheck;
mod init_secrets;
mod kubernetes;
mod migrate;
mod pepper;
mod pooler;
mod posts_doctor;
mod released_programs;
mod repository;
mod rolegate_commands;
mod rotate_secrets;
mod secret_files_doc;
mod stored_record;
mod systemd_unit;
mod unwritten_output;
mod user_commands;
mod user_history;
mod user_import;
mod user_keys;
mod user_list;
mod user_recovery;
