//! `user create-key`, `user keys` and `user delete-key`: the API keys of a user.

use super::operator::{Operator, not_found};
use crate::{
    accounts::{AccountError, check_key_expiry, check_name},
    change::{TokenChange, TokenSelection},
    commands::{
        terminal_text::{quote, quote_unless_word},
        timestamp::rfc3339_or_dash,
    },
    principal::Principal,
    store::{StoreError, WriteError},
    tokens::{NewToken, OpaqueToken, SecretKind, TokenDetails, TokenKind},
};
use clap::Args;
use rolegate_program::{
    failure::Failure,
    output::{print, print_secret},
    settings::SettingError,
};
use rolegate_proto::Role;
use std::time::Duration;

const HEADING: [&str; 7] = [
    "ID",
    "PREFIX",
    "ROLE",
    "CREATED",
    "EXPIRES",
    "LAST USED",
    "NAME",
];

#[derive(Debug, Args)]
pub struct CreateKeyArguments {
    /// Name of the user, case-sensitive
    username: String,
    /// Name of the key, which says what it is for
    #[arg(long)]
    name: String,
    /// Highest role that the key grants; default: the user's
    #[arg(long)]
    pub(super) role: Option<String>,
    /// How long the key is valid, such as 90days or 12h; default: it does not expire
    #[arg(long, value_parser = parse_duration)]
    expires_in: Option<Duration>,
}

fn parse_duration(text: &str) -> Result<Duration, &'static str> {
    humantime::parse_duration(text).map_err(|_| "must be a duration such as 90days or 12h")
}

/// Creates an API key. Only the key is on stdout, so that a script can store it.
pub(super) async fn create(
    operator: &Operator,
    arguments: CreateKeyArguments,
) -> Result<(), Failure> {
    let username = &arguments.username;
    let created_at = operator.now().await?;
    check_name(TokenKind::ApiKey, &arguments.name)
        .map_err(|error| SettingError::new("NAME", error))?;
    let expires_at = arguments
        .expires_in
        .map(|lifetime| key_expiry(created_at, lifetime))
        .transpose()
        .map_err(|error| SettingError::new("EXPIRES_IN", error))?;
    let user = operator.find(username).await?;
    let role = arguments
        .role
        .map(|role| operator.roles.require(&role))
        .transpose()?;
    let details = TokenDetails::ApiKey {
        role,
        groups: None,
        created_by: None,
    };
    let mut new = NewToken::generate(
        SecretKind::ApiKey,
        user.id,
        arguments.name,
        created_at,
        details,
    )?;
    new.stored.expires_at = expires_at;
    let created = operator
        .changes
        .create_api_key(Principal::Operator, new, user.username)
        .await
        .map_err(|error| match error {
            WriteError::UserNotFound if user.disabled => {
                format!("the user {username:?} is disabled").into()
            }
            WriteError::UserNotFound => not_found(username),
            error => Failure::from(error),
        })?;
    let id = created.stored.id;
    print_secret(
        &created.key,
        &format!("API key {id} of the user {username:?} is created"),
        &format!(
            "it is lost: create another, and delete this one with user delete-key USERNAME {id}"
        ),
    )
}

/// Returns the time at which a key expires, in Unix seconds. Fails if that time breaks the rules
/// for keys.
fn key_expiry(created_at: u64, lifetime: Duration) -> Result<u64, AccountError> {
    let expires_at = created_at.saturating_add(lifetime.as_secs());
    check_key_expiry(expires_at.try_into().unwrap_or(i64::MAX), created_at)
}

/// Prints the API keys of a user by ascending id, one on each line.
pub(super) async fn list(operator: &Operator, username: &str) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let keys = keys_of_user(operator, user.id).await?;
    let role_width = operator.roles.max_name_len();
    print_columns(HEADING, role_width);
    for key in &keys {
        print_key(key, role_width);
    }
    Ok(())
}

fn print_key(key: &OpaqueToken, role_width: usize) {
    let id = key.id.to_string();
    let prefix = quote_unless_word(&key.prefix);
    let key_role = key.role();
    let role = key_role.as_ref().map_or("-", Role::as_str);
    let created = rfc3339_or_dash(Some(key.created_at));
    let expires = rfc3339_or_dash(key.expires_at);
    let last_used = rfc3339_or_dash(key.last_used_at);
    let mut name = quote(&key.name);
    if let Some(admin) = key.created_by() {
        let creator = format!("  (created by {})", quote(admin));
        name += &creator;
    }
    print_columns(
        [&id, &prefix, role, &created, &expires, &last_used, &name],
        role_width,
    );
}

/// Prints a line of the list, with the columns of the heading.
fn print_columns(
    [id, prefix, role, created, expires, last_used, name]: [&str; HEADING.len()],
    role_width: usize,
) {
    print(&format!(
        "{id:>8}  {prefix:<8}  {role:<role_width$}  {created:<20}  {expires:<20}  {last_used:<20}  {name}"
    ));
}

pub(super) async fn keys_of_user(
    operator: &Operator,
    user_id: i64,
) -> Result<Vec<OpaqueToken>, StoreError> {
    let keys = operator
        .store
        .tokens_of_user(TokenKind::ApiKey, user_id)
        .await?;
    Ok(keys.value)
}

pub(super) async fn delete(operator: &Operator, username: &str, id: i64) -> Result<(), Failure> {
    let user = operator.find(username).await?;
    let user_id = user.id;
    let delete = TokenChange::Delete {
        kind: TokenKind::ApiKey,
        user_id,
        selection: TokenSelection::One(id),
    };
    let deleted = operator
        .changes
        .apply_to_tokens(Principal::Operator, delete, Some(user.username))
        .await?;
    if deleted.is_empty() {
        return Err(format!("the user {username:?} has no API key {id}").into());
    }
    print(&format!(
        "API key {id} of user {user_id} ({username:?}) is deleted."
    ));
    Ok(())
}
