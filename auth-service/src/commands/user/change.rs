//! The commands that change one user. The operator may disable, demote and delete the last admin too.

use super::{
    confirmation, keys,
    new_password::{self, prompt},
    operator::{Operator, Store, not_found},
};
use crate::{
    accounts::{ADMIN_USERNAME, InitialPassword, check_new_username, rename, set_password},
    audit::{Change, Initiator, Write},
    opaque_token::{self, GeneratedToken},
    password::NO_PASSWORD,
    settings::ServiceSettings,
    store::{NewUser, PASSWORD_LINK_SECONDS, WriteError, Writer},
};
use rolegate_program::{
    program::{Failure, print, print_secret},
    settings::SettingError,
};
use rolegate_proto::{Reason, Role};
use rolegate_sign_in::password_link::password_link_url;
use rolegate_sql_store::DatabaseTarget;
use secrecy::{ExposeSecret as _, SecretString};
use std::{path::PathBuf, sync::Arc};

impl Operator {
    pub(super) async fn create(
        &self,
        username: &str,
        role: Role,
        file: Option<PathBuf>,
        settings: &ServiceSettings,
    ) -> Result<(), Failure> {
        // Before the password is asked for; the insert decides.
        self.check_new(username).await?;
        let password_hash = new_password::hash(file.as_deref(), settings).await?;
        let created = self.insert(username, role, password_hash, None).await?;
        print(&created);
        Ok(())
    }

    /// Prints the link and nothing else on stdout, as [`Self::password_link`] does.
    pub(super) async fn create_with_link(
        &self,
        username: &str,
        role: Role,
        settings: &ServiceSettings,
    ) -> Result<(), Failure> {
        self.check_new(username).await?;
        let GeneratedToken { token, digest } = opaque_token::generate_password_link()?;
        let expires_at = self.now().await?.saturating_add(PASSWORD_LINK_SECONDS);
        let link = Some((digest, expires_at));
        let created = self
            .insert(username, role, NO_PASSWORD.into(), link)
            .await?;
        prompt(&format!("{created}\n"));
        print_link(username, &settings.sign_in.sign_in_url, &token, expires_at)
    }

    async fn check_new(&self, username: &str) -> Result<(), Failure> {
        check_new_username(username).map_err(|error| SettingError::new("USERNAME", error))?;
        if self.find(username).await.is_ok() {
            return Err(taken(username));
        }
        Ok(())
    }

    /// Inserts a user; what to say of it.
    async fn insert(
        &self,
        username: &str,
        role: Role,
        password_hash: SecretString,
        link: Option<(String, u64)>,
    ) -> Result<String, Failure> {
        let new = NewUser {
            username: username.to_owned(),
            password_hash,
            role,
            link,
        };
        let store = Arc::clone(&self.store);
        let insert = move |write| async move { store.insert(None, new, write).await };
        let write = Write::by_operator(Change::UserCreated, None);
        let user = write
            .run(insert, Write::log_user)
            .await
            .map_err(|error| match error {
                WriteError::UsernameTaken => taken(username),
                error => error.into(),
            })?;
        Ok(format!(
            "User {} ({username:?}) is created, with the role {role}.",
            user.id
        ))
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
        let GeneratedToken { token, digest } = opaque_token::generate_password_link()?;
        let (store, id) = (Arc::clone(&self.store), user.id);
        let insert =
            move |write| async move { store.insert_password_link(None, id, digest, write).await };
        let write = Write::by_operator(Change::PasswordLinkCreated, Some(id));
        let inserted = write
            .run(insert, move |write, _| write.log_user(&user))
            .await;
        let expires_at = inserted.map_err(|error| match error {
            WriteError::UserNotFound => not_found(username),
            error => error.into(),
        })?;
        print_link(username, sign_in_url, &token, expires_at)
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
        self.change(&user, Change::set_disabled(disabled), set)
            .await?;
        let state = if disabled { "disabled" } else { "enabled" };
        print(&format!("User {} ({username:?}) is {state} now.", user.id));
        Ok(())
    }

    pub(super) async fn rename(&self, username: &str, to: &str) -> Result<(), Failure> {
        let user = self.find(username).await?;
        if username != to {
            rename(&self.store, Initiator::Operator, &user, to, None)
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

/// Prints a link on stdout, and what to know about it on stderr.
fn print_link(
    username: &str,
    sign_in_url: &str,
    token: &SecretString,
    expires_at: u64,
) -> Result<(), Failure> {
    let link = password_link_url(sign_in_url, token);
    print_secret(
        &link,
        &format!("the link of the user {username:?} is created"),
        "nobody knows it: create another with user password-link, which ends it",
    )?;
    if link.expose_secret().starts_with('/') {
        prompt(
            "Send it with the address of your server before it, such as https://auth.example.org; with that address in \
             SIGN_IN_URL the command prints all of it.\n",
        );
    }
    let end = keys::time(Some(expires_at));
    prompt(&format!("It is good once, until {end}.\n"));
    Ok(())
}
