//! `user export`: writes all users as the lines that `user import` reads.

use super::{operator::Operator, user_line::UserLine};
use rolegate_program::{audit_line, failure::Failure};
use rolegate_sql_store::Store as _;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::spooled_tempfile;

/// The maximum number of bytes of an export in memory. A larger export is kept in an unnamed file
/// in `TMPDIR`.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Writes all users to stdout by ascending id, as of one moment, and logs the export.
///
/// All users are read before the first is written. Otherwise a slow reader of the output would keep
/// the transaction open. PostgreSQL could then not remove dead rows, and SQLite could not shorten
/// its log.
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
    // The transaction of the export ends here.
    drop(users);
    operator.store.close().await;
    audit_line!("users_exported", count, by = "operator");
    let mut lines = lines.into_inner()?;
    lines.rewind()?;
    let mut stdout = io::stdout().lock();
    io::copy(&mut lines, &mut stdout)?;
    Ok(stdout.flush()?)
}
