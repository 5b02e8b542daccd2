//! `user keys` and `user delete-key`.

use super::operator::Operator;
use crate::{
    audit::{Change, Write},
    opaque_token::{OpaqueToken, TokenKind},
    store::{StoreError, TokenSelection},
};
use humantime::format_rfc3339_seconds;
use rolegate_program::program::{Failure, print};
use std::{
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

impl Operator {
    /// Prints the API keys of a user by ascending id, a line for each.
    pub(super) async fn keys(&self, username: &str) -> Result<(), Failure> {
        let keys = self.keys_of_user(self.find(username).await?.id).await?;
        let line = |[id, prefix, role, created, expires, used, name]: [&str; 7]| {
            let width = self.roles.width();
            print(&format!(
                "{id:>8}  {prefix:<8}  {role:<width$}  {created:<20}  {expires:<20}  {used:<20}  {name}"
            ));
        };
        line(["ID", "PREFIX", "ROLE", "CREATED", "EXPIRES", "LAST USED", "NAME"]);
        for key in keys {
            let times = [Some(key.created_at), key.expires_at, key.last_used_at].map(time);
            let [created, expires, used] = times.each_ref().map(String::as_str);
            let by = key.created_by.map(|admin| format!("  (created by {admin:?})"));
            let name = format!("{:?}{}", key.name, by.unwrap_or_default());
            let id = key.id.to_string();
            let role = key.role.as_ref().map_or("-", |role| role.as_str());
            line([&id, &key.prefix, role, created, expires, used, &name]);
        }
        Ok(())
    }

    pub(super) async fn keys_of_user(&self, id: i64) -> Result<Vec<OpaqueToken>, StoreError> {
        Ok(self.store.tokens_of_user(TokenKind::ApiKey, id).await?.value)
    }

    pub(super) async fn delete_key(&self, username: &str, id: i64) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let (store, user_id) = (Arc::clone(&self.store), user.id);
        let delete = async move {
            store.delete_tokens(TokenKind::ApiKey, None, user_id, TokenSelection::One(id)).await
        };
        let write = Write::by_operator(Change::ApiKeyDeleted, Some(user_id));
        let record = move |write: &Write, keys: &Vec<OpaqueToken>| {
            for key in keys {
                write.record_token(key, Some(&user.username));
            }
        };
        if write.run(delete, record).await?.is_empty() {
            return Err(format!("the user {username:?} has no API key {id}").into());
        }
        print(&format!("API key {id} of user {user_id} ({username:?}) is deleted."));
        Ok(())
    }
}

fn time(seconds: Option<u64>) -> String {
    let time = |at| format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(at)).to_string();
    seconds.map_or_else(|| "-".to_owned(), time)
}
