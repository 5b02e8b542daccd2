//! `user export`.

use super::{operator::Operator, user_line::UserLine};
use crate::store::Maintenance;
use rolegate_program::failure::Failure;
use rolegate_telemetry::audit_line;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY_BYTES: usize = 64 << 20;

/// Users who were read and are not written yet.
struct ExportLines {
    count: u64,
    lines: SpooledTempFile,
}

/// Writes all users by ascending id, as they are at one moment. Reads them before it writes the first:
/// a pipe that is not read would keep the transaction open, and with it old rows and the log of SQLite.
pub(super) async fn run(operator: &Operator) -> Result<(), Failure> {
    let mut export = read(&operator.maintenance).await?;
    operator.store.close().await;
    audit_line!("users_exported", count = export.count, by = "operator");
    export.lines.rewind()?;
    let mut stdout = io::stdout().lock();
    io::copy(&mut export.lines, &mut stdout)?;
    Ok(stdout.flush()?)
}

async fn read(maintenance: &Maintenance) -> Result<ExportLines, Failure> {
    let mut lines = BufWriter::new(spooled_tempfile(MAX_MEMORY_BYTES));
    let mut users = maintenance.export().await?;
    let mut count = 0;
    loop {
        let page = users.next_page().await?;
        if page.is_empty() {
            let lines = lines.into_inner()?;
            return Ok(ExportLines { count, lines });
        }
        for user in &page {
            serde_json::to_writer(&mut lines, &UserLine::new(user))?;
            lines.write_all(b"\n")?;
            count += 1;
        }
    }
}
