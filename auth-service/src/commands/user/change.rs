//! The commands that change one user. The operator may disable, demote and delete the last admin too.

use super::{
    confirmation, keys,
    new_password::{self, prompt},
    operator::{Operator, Store, not_found},
};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword, check_new_username, rename, set_password},
    audit::{By, Change, Write},
    opaque_token,
    settings::ServiceSettings,
    store::{NewUser, WriteError, Writer},
};
use rolegate_program::{
    program::{Failure, print, print_secret},
    settings::SettingError,
};
use rolegate_proto::{Reason, Role};
use rolegate_sign_in::password_link::password_link_url;
use rolegate_sql_store::DatabaseTarget;
use std::{path::PathBuf, sync::Arc};

impl Operator {
    pub(super) async fn create(
        &self,
        username: &str,
        role: Role,
        file: Option<PathBuf>,
        settings: &ServiceSettings,
    ) -> Result<(), Failure> {
        check_new_username(username).map_err(|error| SettingError::new("USERNAME", error))?;
        // Before the password is asked for; the insert decides.
        if self.find(username).await.is_ok() {
            return Err(taken(username));
        }
        let password_hash = new_password::hash(file.as_deref(), settings).await?;
        let new = NewUser {
            username: username.to_owned(),
            password_hash,
            role,
            link: None,
        };
        let store = Arc::clone(&self.store);
        let insert = move |write| async move { store.insert(None, new, write).await };
        let write = Write::by_operator(Change::UserCreated, None);
        let user = write
            .run(insert, Write::record_user)
            .await
            .map_err(|error| match error {
                WriteError::UsernameTaken => taken(username),
                error => error.into(),
            })?;
        print(&format!(
            "User {} ({username:?}) has the role {role}.",
            user.id
        ));
        Ok(())
    }

    pub(super) async fn reset_password(
        &self,
        username: &str,
        file: Option<PathBuf>,
        settings: &ServiceSettings,
    ) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let hash = new_password::hash(file.as_deref(), settings).await?;
        let set = move |store: Store, id, write| async move {
            set_password(&*store, id, hash, Writer::Operator, write).await
        };
        self.change(&user, Change::PasswordSet, set).await?;
        print(&format!(
            "User {} ({username:?}) has the new password now.",
            user.id
        ));
        // The file of rolegate's generated password beside this database. It is not deleted here: nothing
        // proves that it belongs to this database.
        if username == ADMIN_USERNAME
            && let DatabaseTarget::Sqlite(database) = &self.database.target
            && let file = database.with_file_name(InitialPassword::NAME)
            && file.is_file()
        {
            let file = file.display();
            print(&format!(
                "{file} holds an older one; delete it, or rolegate deletes it at its next start."
            ));
        }
        Ok(())
    }

    /// Prints the link and nothing else, so that a script can send it, and when it ends on stderr.
    pub(super) async fn password_link(
        &self,
        username: &str,
        sign_in_url: &str,
    ) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let (token, digest) = opaque_token::password_link()?;
        let (store, id) = (Arc::clone(&self.store), user.id);
        let insert =
            move |write| async move { store.insert_password_link(None, id, digest, write).await };
        let write = Write::by_operator(Change::PasswordLinkCreated, Some(id));
        let inserted = write
            .run(insert, move |write, _| write.record_user(&user))
            .await;
        let expires_at = inserted.map_err(|error| match error {
            WriteError::UserNotFound => not_found(username),
            error => error.into(),
        })?;
        print_secret(
            &password_link_url(sign_in_url, &token),
            &format!("the link of the user {username:?} is created"),
            "nobody knows it: create another with user password-link, which ends it",
        )?;
        prompt(&format!(
            "It is good once, until {}.\n",
            keys::time(Some(expires_at))
        ));
        Ok(())
    }

    pub(super) async fn remove_second_factor(&self, username: &str) -> Result<(), Failure> {
        let user = self.find(username).await?;
        if !user.second_factor {
            return Err(format!("the second factor of the user {username:?} is not on").into());
        }
        let remove = |store: Store, id, write| async move {
            store.turn_off_second_factor(None, id, write).await
        };
        self.change(&user, Change::SecondFactorRemoved, remove)
            .await?;
        print(&format!(
            "User {} ({username:?}) has no second factor now.",
            user.id
        ));
        Ok(())
    }

    pub(super) async fn set_disabled(&self, username: &str, disabled: bool) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let set = move |store: Store, id, write| async move {
            store.set_disabled(None, id, disabled, write).await
        };
        self.change(&user, Change::disabled(disabled), set).await?;
        let state = if disabled { "disabled" } else { "enabled" };
        print(&format!("User {} ({username:?}) is {state} now.", user.id));
        Ok(())
    }

    pub(super) async fn rename(&self, username: &str, to: &str) -> Result<(), Failure> {
        let user = self.find(username).await?;
        if username != to {
            rename(&self.store, By::Operator, &user, to, None)
                .await
                .map_err(|error| -> Failure {
                    match error.reason() {
                        Reason::UsernameInvalid => SettingError::new("NEW_USERNAME", error).into(),
                        Reason::UsernameTaken => taken(to),
                        Reason::UserNotFound => "the user was changed meanwhile; try again".into(),
                        _ => error.into(),
                    }
                })?;
        }
        print(&format!(
            "User {} has the name {to:?} now; it was {username:?}.",
            user.id
        ));
        Ok(())
    }

    pub(super) async fn set_role(&self, username: &str, role: Role) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let from = user.role;
        let set = move |store: Store, id, write| async move {
            store.set_role(None, id, role, write).await
        };
        self.change(&user, Change::RoleChanged { from }, set)
            .await?;
        print(&format!(
            "User {} ({username:?}) has the role {role} now; it was {from}.",
            user.id
        ));
        Ok(())
    }

    pub(super) async fn revoke_tokens(&self, username: &str) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let revoke = |store: Store, id, write| async move {
            store.revoke_tokens(id, Writer::Operator, write).await
        };
        self.change(&user, Change::TokensRevoked, revoke).await?;
        print(&format!(
            "Every access token of user {} ({username:?}) is revoked.",
            user.id
        ));
        Ok(())
    }

    /// Asks first, unless `yes` or without a terminal.
    pub(super) async fn delete(&self, username: &str, yes: bool) -> Result<(), Failure> {
        let user = self.find(username).await?;
        let question = format!("Delete user {} ({username:?}) and every API key?", user.id);
        if !yes && !confirmation::is_given(&question).await? {
            return Err("nothing was deleted".into());
        }
        let delete = |store: Store, id, write| async move { store.delete(None, id, write).await };
        self.change(&user, Change::UserDeleted, delete).await?;
        print(&format!("User {} ({username:?}) is deleted.", user.id));
        if username == ADMIN_USERNAME {
            print("The next start creates the user admin again.");
        }
        Ok(())
    }
}

fn taken(username: &str) -> Failure {
    format!("the user {username:?} exists already").into()
}
