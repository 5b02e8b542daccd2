//! `user create-key`, `user keys` and `user delete-key`.

use super::operator::{Operator, not_found};
use crate::{
    accounts::{AccountError, check_key_expiry, check_name},
    audit::{Change, Write},
    commands::terminal_text::{quoted, word},
    opaque_token::{NewToken, OpaqueToken, TokenKind},
    store::{StoreError, TokenSelection, WriteError, Writer},
};
use clap::Args;
use humantime::format_rfc3339_seconds;
use rolegate_program::{
    program::{Failure, print, print_secret},
    settings::SettingError,
};
use rolegate_proto::{Role, limits::API_KEY_PREFIX};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

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

impl Operator {
    /// Prints the key and nothing else, so that a script can keep it.
    pub(super) async fn create_key(&self, new: NewKey, role: Option<Role>) -> Result<(), Failure> {
        let NewKey {
            username,
            name,
            expires_in,
            ..
        } = new;
        let created_at = self.now().await?;
        let invalid = |setting| move |error: AccountError| SettingError::new(setting, error);
        check_name(TokenKind::ApiKey, &name).map_err(invalid("NAME"))?;
        let end = |after: Duration| created_at.saturating_add(after.as_secs());
        let check = |at: u64| check_key_expiry(at.try_into().unwrap_or(i64::MAX), created_at);
        let expires_at = expires_in
            .map(end)
            .map(check)
            .transpose()
            .map_err(invalid("EXPIRES_IN"))?;
        let user = self.find(&username).await?;
        let (user_id, is_disabled) = (user.id, user.disabled);
        let mut new = NewToken::generate(API_KEY_PREFIX, user_id, name, created_at)?;
        (new.stored.role, new.stored.expires_at) = (role, expires_at);
        let key = new.token.clone();
        let store = Arc::clone(&self.store);
        let insert =
            move |write| async move { store.insert_token(new, Writer::Operator, write).await };
        let write = Write::by_operator(Change::ApiKeyCreated, Some(user_id));
        let inserted = write.run(insert, move |write, key| {
            write.entry_for_token(key, Some(&user.username)).log();
        });
        let inserted = inserted.await.map_err(|error| match error {
            WriteError::UserNotFound if is_disabled => {
                format!("the user {username:?} is disabled").into()
            }
            WriteError::UserNotFound => not_found(&username),
            error => Failure::from(error),
        })?;
        let id = inserted.id;
        print_secret(
            &key,
            &format!("API key {id} of the user {username:?} is created"),
            &format!(
                "nobody knows it: create another, and delete this one with user delete-key USERNAME {id}"
            ),
        )
    }

    /// Prints the API keys of a user by ascending id, a line for each.
    pub(super) async fn keys(&self, username: &str) -> Result<(), Failure> {
        let keys = self.keys_of_user(self.find(username).await?.id).await?;
        let line = |[id, prefix, role, created, expires, used, name]: [&str; 7]| {
            let width = self.roles.width();
            print(&format!(
                "{id:>8}  {prefix:<8}  {role:<width$}  {created:<20}  {expires:<20}  {used:<20}  {name}"
            ));
        };
        line([
            "ID",
            "PREFIX",
            "ROLE",
            "CREATED",
            "EXPIRES",
            "LAST USED",
            "NAME",
        ]);
        for key in keys {
            let times = [Some(key.created_at), key.expires_at, key.last_used_at].map(time);
            let [created, expires, used] = times.each_ref().map(String::as_str);
            let by = key
                .created_by
                .map(|admin| format!("  (created by {})", quoted(&admin)));
            let name = format!("{}{}", quoted(&key.name), by.unwrap_or_default());
            let prefix = word(&key.prefix);
            let id = key.id.to_string();
            let role = key.role.as_ref().map_or("-", |role| role.as_str());
            line([&id, &prefix, role, created, expires, used, &name]);
        }
        Ok(())
    }

    pub(super) async fn keys_of_user(&self, id: i64) -> Result<Vec<OpaqueToken>, StoreError> {
        Ok(self
            .store
            .tokens_of_user(TokenKind::ApiKey, id)
            .await?
            .value)
    }

    pub(super) async fn delete_key(&self, username: &str, id: i64) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let (store, user_id) = (Arc::clone(&self.store), user.id);
        let delete = move |write| async move {
            let one = TokenSelection::One(id);
            store
                .delete_tokens(TokenKind::ApiKey, None, user_id, one, write)
                .await
        };
        let write = Write::by_operator(Change::ApiKeyDeleted, Some(user_id));
        let record = move |write: &Write, keys: &Vec<OpaqueToken>| {
            for key in keys {
                write.entry_for_token(key, Some(&user.username)).log();
            }
        };
        if write.run(delete, record).await?.is_empty() {
            return Err(format!("the user {username:?} has no API key {id}").into());
        }
        print(&format!(
            "API key {id} of user {user_id} ({username:?}) is deleted."
        ));
        Ok(())
    }
}

pub(super) fn time(seconds: Option<u64>) -> String {
    let time = |at| format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at)).to_string();
    seconds.map_or_else(|| "-".to_owned(), time)
}
