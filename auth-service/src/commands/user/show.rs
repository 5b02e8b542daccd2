//! `user list`, `user show` and `user export`.

use super::{keys::time, operator::Operator, user_line::UserLine};
use crate::{
    commands::terminal_text::quoted,
    password::NO_PASSWORD,
    store::{StoreError, Transfer},
    user::Credentials,
};
use rolegate_program::program::{Failure, print};
use rolegate_proto::Role;
use rolegate_telemetry::audit_line;
use secrecy::ExposeSecret;
use std::{
    collections::HashMap,
    io::{self, BufWriter, Seek as _, Write},
    slice,
};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY: usize = 64 << 20;

const HEADING: [&str; 6] = ["ID", "ROLE", "STATE", "CREATED", "LAST SIGN-IN", "USERNAME"];

impl Operator {
    /// Prints all users by ascending id, a line for each, or those who have this role or a key with it.
    pub(super) async fn list(&self, role: Option<Role>) -> Result<(), Failure> {
        if let Some(role) = role {
            self.expect_known(role).await?;
        }
        self.print_line(HEADING);
        let mut last = Some(0);
        while let Some(id) = last {
            let users = self.transfer.users_after(id, role).await?;
            let logins = self.last_logins(&users).await?;
            for found in &users {
                let mut keys = 0;
                if role.is_some_and(|role| role != found.user.role) {
                    let of_user = self.keys_of_user(found.user.id).await?;
                    keys = of_user.iter().filter(|key| key.role == role).count();
                }
                self.print_user(found, &logins, keys);
            }
            last = users.last().map(|found| found.user.id);
        }
        Ok(())
    }

    pub(super) async fn show(&self, username: &str) -> Result<(), Failure> {
        let found = self.credentials(username).await?;
        let logins = self.last_logins(slice::from_ref(&found)).await?;
        self.print_line(HEADING);
        self.print_user(&found, &logins, 0);
        Ok(())
    }

    async fn last_logins(&self, users: &[Credentials]) -> Result<HashMap<i64, u64>, StoreError> {
        let ids: Vec<i64> = users.iter().map(|found| found.user.id).collect();
        self.transfer.last_logins(&ids).await
    }

    /// Refuses a role that neither the settings nor a user or a key has.
    async fn expect_known(&self, role: Role) -> Result<(), Failure> {
        let in_use = self.store.roles_in_use().await?;
        let is_used = in_use.iter().any(|(name, ..)| name == role.as_str());
        if self.roles.contains(&role) || is_used {
            return Ok(());
        }
        Err(self.roles.unknown().into())
    }

    /// Writes all users by ascending id, as they are at one moment. Reads them before it writes the first:
    /// a pipe that is not read would keep the transaction open, and with it old rows and the log of SQLite.
    pub(super) async fn export(&self) -> Result<(), Failure> {
        let (count, mut users) = read(&self.transfer).await?;
        self.store.close().await;
        audit_line!("users_exported", count, by = "operator");
        users.rewind()?;
        let mut stdout = io::stdout().lock();
        io::copy(&mut users, &mut stdout)?;
        Ok(stdout.flush()?)
    }

    /// The name is quoted, and what is invisible in it is escaped. `keys` have a role that the user has not.
    fn print_user(
        &self,
        Credentials {
            user,
            password_hash,
        }: &Credentials,
        last_logins: &HashMap<i64, u64>,
        keys: usize,
    ) {
        let state = if user.disabled { "disabled" } else { "enabled" };
        let has_none = password_hash.expose_secret() == NO_PASSWORD;
        let note = if has_none { "  (no password)" } else { "" };
        let factor = if user.second_factor {
            "  (second factor)"
        } else {
            ""
        };
        let keys = if keys > 0 {
            format!("  (API keys with it: {keys})")
        } else {
            String::new()
        };
        let name = format!("{}{note}{factor}{keys}", quoted(&user.username));
        let id = user.id.to_string();
        let last_login_at = last_logins.get(&user.id).copied();
        let times = [user.created_at, last_login_at].map(time);
        self.print_line([&id, user.role.as_str(), state, &times[0], &times[1], &name]);
    }

    fn print_line(&self, [id, role, state, created, last, username]: [&str; 6]) {
        let width = self.roles.width();
        print(&format!(
            "{id:>8}  {role:<width$}  {state:<8}  {created:<20}  {last:<20}  {username}"
        ));
    }
}

async fn read(transfer: &Transfer) -> Result<(u64, SpooledTempFile), Failure> {
    let mut lines = BufWriter::new(spooled_tempfile(MAX_MEMORY));
    let mut users = transfer.export().await?;
    let mut count = 0;
    loop {
        let page = users.next_page().await?;
        if page.is_empty() {
            return Ok((count, lines.into_inner()?));
        }
        for user in &page {
            serde_json::to_writer(&mut lines, &UserLine::of(user))?;
            lines.write_all(b"\n")?;
            count += 1;
        }
    }
}
