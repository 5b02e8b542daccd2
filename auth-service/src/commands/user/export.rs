//! `user export`.

use super::{operator::Operator, user_line::UserLine};
use rolegate_program::failure::Failure;
use rolegate_telemetry::audit_line;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::spooled_tempfile;

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Writes all users by ascending id, as they are at one moment. Reads them before it writes the first:
/// a pipe that is not read would keep the transaction open, and with it old rows and the log of SQLite.
pub(super) async fn run(operator: &Operator) -> Result<(), Failure> {
    let mut lines = BufWriter::new(spooled_tempfile(MAX_MEMORY_BYTES));
    let mut users = operator.database.export().await?;
    let mut count = 0_u64;
    loop {
        let page = users.next_page().await?;
        if page.is_empty() {
            break;
        }
        for user in &page {
            serde_json::to_writer(&mut lines, &UserLine::new(user))?;
            lines.write_all(b"\n")?;
            count += 1;
        }
    }
    // The transaction ends here.
    drop(users);
    operator.store.close().await;
    audit_line!("users_exported", count, by = "operator");
    let mut lines = lines.into_inner()?;
    lines.rewind()?;
    let mut stdout = io::stdout().lock();
    io::copy(&mut lines, &mut stdout)?;
    Ok(stdout.flush()?)
}
