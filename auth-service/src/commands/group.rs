//! `group`: shows and changes groups and memberships directly in the database. Access to the database is the operator's
//! authorization.

use super::{terminal::confirm, timestamp::rfc3339_or_dash, user::operator::Operator};
use crate::{
    accounts::{AccountError, RequestedEnd, check_group_name},
    change::{Change, GroupChange},
    commands::terminal_text::quote,
    group::{Group, Membership},
    principal::Principal,
};
use clap::{Args, Subcommand};
use rolegate_program::{failure::Failure, output::print, settings::SettingError};
use rolegate_proto::{GroupName, time::parse_rfc3339};
use std::time::UNIX_EPOCH;

/// The number of groups or members that one statement reads.
const PAGE: i64 = 1000;

/// A command about groups.
#[derive(Debug, Subcommand)]
pub enum GroupCommand {
    /// Create a group without members
    Create(GroupArgument),
    /// List all groups by ascending id, with the number of members
    List,
    /// List the members of a group by ascending user id, with the ends of their memberships
    Members(GroupArgument),
    /// Add a user to a group, or replace the end of the membership
    Add {
        /// Name of the group
        group: String,
        /// Name of the user, case-sensitive
        username: String,
        /// Time from which the user is no longer in the group, such as 2026-12-04T17:00:00Z; default: no end
        #[arg(long, value_parser = parse_time)]
        until: Option<i64>,
    },
    /// Remove a user from a group
    Remove {
        /// Name of the group
        group: String,
        /// Name of the user, case-sensitive
        username: String,
    },
    /// Delete a group and its memberships
    Delete {
        /// Name of the group
        group: String,
        /// Do not ask for confirmation; without a terminal none is asked for
        #[arg(long)]
        yes: bool,
    },
}

/// The argument of commands about one group.
#[derive(Args, Debug)]
pub struct GroupArgument {
    /// Name of the group
    group: String,
}

/// Parses a time in the format of RFC 3339, and returns Unix seconds.
pub(super) fn parse_time(text: &str) -> Result<i64, &'static str> {
    let invalid = "must be a time such as 2026-12-04T17:00:00Z";
    let time = parse_rfc3339(text).ok_or(invalid)?;
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_epoch.as_secs()).map_err(|_| invalid)
}

pub(super) async fn run(command: GroupCommand, operator: &Operator) -> Result<(), Failure> {
    match command {
        GroupCommand::Create(argument) => create(operator, &argument.group).await,
        GroupCommand::List => list(operator).await,
        GroupCommand::Members(argument) => list_members(operator, &argument.group).await,
        GroupCommand::Add {
            group,
            username,
            until,
        } => add(operator, &group, &username, until).await,
        GroupCommand::Remove { group, username } => {
            change_membership(operator, &group, &username, |_| None).await?;
            print(&format!(
                "User {username:?} is no longer in the group {group}."
            ));
            Ok(())
        }
        GroupCommand::Delete { group, yes } => delete(operator, &group, yes).await,
    }
}

async fn create(operator: &Operator, name: &str) -> Result<(), Failure> {
    let name = check_group_name(name, &operator.roles)
        .map_err(|error| SettingError::new("GROUP", error))?;
    let create = GroupChange::Create { name };
    let created = operator
        .changes
        .apply_to_group(Principal::Operator, create)
        .await;
    let group = created.map_err(AccountError::from)?;
    print(&format!("Group {} ({name}) is created.", group.id));
    Ok(())
}

async fn list(operator: &Operator) -> Result<(), Failure> {
    print("      ID  MEMBERS  NAME");
    let mut last_id = Some(0);
    while let Some(id) = last_id {
        let groups = operator.store.groups_after(id, PAGE).await?;
        for group in &groups {
            print(&format!(
                "{:>8}  {:>7}  {}",
                group.id, group.members, group.name
            ));
        }
        last_id = groups.last().map(|group| group.id);
    }
    Ok(())
}

async fn list_members(operator: &Operator, name: &str) -> Result<(), Failure> {
    let group = find(operator, name).await?;
    print(" USER ID  UNTIL                 USERNAME");
    let mut last_id = Some(0);
    while let Some(id) = last_id {
        let members = operator.store.members_after(&group.name, id, PAGE).await?;
        for member in &members {
            let until = rfc3339_or_dash(member.until.map(i64::cast_unsigned));
            let username = quote(&member.username);
            print(&format!("{:>8}  {until:<20}  {username}", member.user_id));
        }
        last_id = members.last().map(|member| member.user_id);
    }
    Ok(())
}

async fn add(
    operator: &Operator,
    group: &str,
    username: &str,
    until: Option<i64>,
) -> Result<(), Failure> {
    let now = operator.now().await?;
    let until = until
        .map_or(RequestedEnd::Never, RequestedEnd::At)
        .check(now)
        .map_err(|error| SettingError::new("UNTIL", error))?;
    let to = |group| Some(Membership { group, until });
    change_membership(operator, group, username, to).await?;
    let end = match until {
        Some(_) => format!(" until {}", rfc3339_or_dash(until)),
        None => String::new(),
    };
    print(&format!("User {username:?} is in the group {group}{end}."));
    Ok(())
}

async fn change_membership(
    operator: &Operator,
    group: &str,
    username: &str,
    to: impl FnOnce(GroupName) -> Option<Membership>,
) -> Result<(), Failure> {
    find(operator, group).await?;
    let name = parse_name(group)?;
    let user = operator.find(username).await?;
    let change = Change::SetMembership {
        user_id: user.id,
        group: name,
        from: user.membership(name),
        to: to(name),
    };
    let changed = operator.changes.apply(Principal::Operator, change).await;
    changed.map_err(AccountError::from)?;
    Ok(())
}

async fn delete(operator: &Operator, name: &str, yes: bool) -> Result<(), Failure> {
    let group = find(operator, name).await?;
    let question = format!("Delete the group {name} with {} member(s)?", group.members);
    if !yes && !confirm(&question).await? {
        return Err("nothing was deleted".into());
    }
    let delete = GroupChange::Delete { group_id: group.id };
    let deleted = operator
        .changes
        .apply_to_group(Principal::Operator, delete)
        .await;
    let deleted = deleted.map_err(AccountError::from)?;
    print(&format!(
        "Group {} ({name}) is deleted; it had {} member(s).",
        deleted.id, deleted.members
    ));
    Ok(())
}

pub(super) async fn find(operator: &Operator, name: &str) -> Result<Group, Failure> {
    let found = operator.store.group_named(parse_name(name)?).await?;
    found.ok_or_else(|| format!("there is no group {name:?}").into())
}

fn parse_name(name: &str) -> Result<GroupName, Failure> {
    name.parse()
        .map_err(|_| format!("there is no group {name:?}").into())
}
