//! `user list`, `user show` and `user export`.

use super::{operator::Operator, user_line::UserLine};
use crate::{password::NO_PASSWORD, store::Transfer, user::Credentials};
use rolegate_program::program::{Failure, print};
use rolegate_telemetry::audit_line;
use secrecy::ExposeSecret;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY: usize = 64 << 20;

impl Operator {
    /// Prints all users by ascending id, a line for each.
    pub(super) async fn list(&self) -> Result<(), Failure> {
        print_header();
        let mut last = Some(0);
        while let Some(id) = last {
            let users = self.transfer.users_after(id).await?;
            users.iter().for_each(print_user);
            last = users.last().map(|found| found.user.id);
        }
        Ok(())
    }

    /// Prints one user.
    pub(super) async fn show(&self, username: &str) -> Result<(), Failure> {
        let found = self.credentials(username).await?;
        print_header();
        print_user(&found);
        Ok(())
    }

    /// Writes all users by ascending id, as they are at one moment. Reads them before it writes the first:
    /// a pipe that is not read would keep the transaction open, and with it old rows and the log of SQLite.
    pub(super) async fn export(&self) -> Result<(), Failure> {
        let (count, mut users) = read(&self.transfer).await?;
        self.store.close().await;
        audit_line!("users_exported", count, by = "operator");
        users.rewind()?;
        io::copy(&mut users, &mut io::stdout())?;
        Ok(())
    }
}

fn print_header() {
    print(&line("ID", "ROLE", "STATE", "USERNAME"));
}

/// The name is quoted, and what is invisible in it is escaped.
fn print_user(Credentials { user, password_hash }: &Credentials) {
    let state = if user.disabled { "disabled" } else { "enabled" };
    let has_none = password_hash.expose_secret() == NO_PASSWORD;
    let note = if has_none { "  (no password)" } else { "" };
    let name = format!("{:?}{note}", user.username);
    print(&line(&user.id.to_string(), user.role.as_str(), state, &name));
}

fn line(id: &str, role: &str, state: &str, username: &str) -> String {
    format!("{id:>8}  {role:<6}  {state:<8}  {username}")
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
