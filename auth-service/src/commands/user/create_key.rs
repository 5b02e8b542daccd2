//! `user create-key`.

use super::operator::{Operator, not_found};
use crate::{
    accounts::{AccountError, check_key_expiry, check_name},
    audit::{Change, Write},
    opaque_token::{NewToken, TokenKind},
    store::{WriteError, Writer},
};
use clap::Args;
use rolegate_program::{
    program::{Failure, print},
    settings::SettingError,
};
use rolegate_proto::{Role, limits::API_KEY_PREFIX};
use secrecy::ExposeSecret as _;
use std::{sync::Arc, time::Duration};

/// A key to create.
#[derive(Debug, Args)]
pub struct NewKey {
    /// Name of the user, case-sensitive
    username: String,
    /// What the key is for
    #[arg(long)]
    name: String,
    /// Highest role that the key grants; default: the user's
    #[arg(long)]
    pub(super) role: Option<String>,
    /// How long the key is valid, such as 90days or 12h; default: without end
    #[arg(long, value_parser = duration)]
    expires_in: Option<Duration>,
}

fn duration(text: &str) -> Result<Duration, &'static str> {
    humantime::parse_duration(text).map_err(|_| "must be a duration such as 90days or 12h")
}

/// Prints the key and nothing else, so that a script can keep it.
pub(super) async fn run(
    operator: &Operator,
    new: NewKey,
    role: Option<Role>,
) -> Result<(), Failure> {
    let NewKey { username, name, expires_in, .. } = new;
    let created_at = operator.now().await?;
    let invalid = |setting| move |error: AccountError| SettingError::new(setting, error);
    check_name(TokenKind::ApiKey, &name).map_err(invalid("NAME"))?;
    let end = |after: Duration| created_at.saturating_add(after.as_secs());
    let check = |at: u64| check_key_expiry(at.try_into().unwrap_or(i64::MAX), created_at);
    let expires_at = expires_in.map(end).map(check).transpose().map_err(invalid("EXPIRES_IN"))?;
    let user = operator.find(&username).await?;
    let (user_id, is_disabled) = (user.id, user.disabled);
    let mut new = NewToken::generate(API_KEY_PREFIX, user_id, name, created_at)?;
    (new.stored.role, new.stored.expires_at) = (role, expires_at);
    let key = new.token.clone();
    let store = Arc::clone(&operator.store);
    let insert = async move { store.insert_token(new, Writer::Operator).await };
    let write = Write::by_operator(Change::ApiKeyCreated, Some(user_id));
    let inserted =
        write.run(insert, move |write, key| write.record_token(key, Some(&user.username)));
    inserted.await.map_err(|error| match error {
        WriteError::UserNotFound if is_disabled => {
            format!("the user {username:?} is disabled").into()
        }
        WriteError::UserNotFound => not_found(&username),
        error => error.into(),
    })?;
    print(key.expose_secret());
    Ok(())
}
