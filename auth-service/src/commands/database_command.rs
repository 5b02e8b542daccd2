//! The commands on a database of users, which auth-service and rolegate have in common.

use super::{
    audit::{self, AuditCommand},
    group::{self, GroupCommand},
    user::{self, UserCommand, operator::Operator},
};
use crate::{settings::ServiceSettings, store::FileClock};
use clap::Subcommand;
use rolegate_program::{failure::Failure, settings::SettingError};
use rolegate_sql_store::{DatabaseUrl, Store as _};
use std::pin::Pin;

/// A command that an operator runs directly on the database of users.
#[derive(Debug, Subcommand)]
pub enum DatabaseCommand {
    /// Show and change users directly in the database
    #[command(subcommand)]
    User(UserCommand),
    /// Show and change groups and memberships directly in the database
    #[command(subcommand)]
    Group(GroupCommand),
    /// Show and verify the record of what happened
    #[command(subcommand)]
    Audit(AuditCommand),
}

impl DatabaseCommand {
    /// Runs the command on the users in `database`. New passwords and roles follow the rules of
    /// `settings`.
    #[must_use]
    pub fn run(
        self,
        settings: &ServiceSettings,
        database: Result<DatabaseUrl, SettingError>,
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + '_>> {
        // The future is boxed, so that rolegate does not compile the commands again.
        Box::pin(async move {
            let roles = &settings.extra_roles;
            let clock = match &self {
                Self::User(command) => command.prepare(roles).await?,
                Self::Group(_) | Self::Audit(_) => FileClock::Keep,
            };
            let operator = Operator::connect(database?, roles.clone(), clock).await?;
            let outcome = match self {
                Self::User(command) => user::run(command, &operator, settings).await,
                Self::Group(command) => group::run(command, &operator).await,
                Self::Audit(command) => audit::run(command, &operator).await,
            };
            operator.store.close().await;
            outcome
        })
    }
}
