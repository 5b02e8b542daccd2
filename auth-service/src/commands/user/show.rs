//! `user list`, `user show` and `user export`.

use super::{operator::Operator, user_line::UserLine};
use crate::{
    commands::terminal_text::quoted, password::NO_PASSWORD, store::Transfer, user::Credentials,
};
use rolegate_program::program::{Failure, print};
use rolegate_proto::Role;
use rolegate_telemetry::audit_line;
use secrecy::ExposeSecret;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY: usize = 64 << 20;

impl Operator {
    /// Prints all users by ascending id, a line for each, or those who have this role or a key with it.
    pub(super) async fn list(&self, role: Option<Role>) -> Result<(), Failure> {
        self.print_line("ID", "ROLE", "STATE", "USERNAME");
        let mut last = Some(0);
        while let Some(id) = last {
            let users = self.transfer.users_after(id, role).await?;
            for found in &users {
                let mut keys = 0;
                if role.is_some_and(|role| role != found.user.role) {
                    let of_user = self.keys_of_user(found.user.id).await?;
                    keys = of_user.iter().filter(|key| key.role == role).count();
                }
                self.print_user(found, keys);
            }
            last = users.last().map(|found| found.user.id);
        }
        Ok(())
    }

    pub(super) async fn show(&self, username: &str) -> Result<(), Failure> {
        let found = self.credentials(username).await?;
        self.print_line("ID", "ROLE", "STATE", "USERNAME");
        self.print_user(&found, 0);
        Ok(())
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
        self.print_line(&user.id.to_string(), user.role.as_str(), state, &name);
    }

    fn print_line(&self, id: &str, role: &str, state: &str, username: &str) {
        let width = self.roles.width();
        print(&format!("{id:>8}  {role:<width$}  {state:<8}  {username}"));
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
