//! `user export`.

use super::{operator::Operator, user_line::UserLine};
use crate::{host::failed, store::Transfer};
use rolegate_program::program::Failure;
use rolegate_telemetry::audit_line;
use std::io::{self, BufWriter, Seek as _, Write};
use tempfile::{SpooledTempFile, spooled_tempfile};

/// More than this goes through a file without a name, in `TMPDIR`.
const MAX_MEMORY: usize = 64 << 20;

/// Writes all users by ascending id, as they are at one moment. Reads them before it writes the first:
/// a pipe that is not read would keep the transaction open, and with it old rows and the log of SQLite.
pub(super) async fn run(operator: &Operator) -> Result<(), Failure> {
    let transfer = Transfer::open(&operator.database).await?;
    let read = read(&transfer).await;
    transfer.close().await;
    let (count, mut users) = read?;
    audit_line!("users_exported", count, by = "operator");
    users.rewind().map_err(failed)?;
    io::copy(&mut users, &mut io::stdout()).map(drop).map_err(failed)
}

async fn read(transfer: &Transfer) -> Result<(u64, SpooledTempFile), Failure> {
    let mut lines = BufWriter::new(spooled_tempfile(MAX_MEMORY));
    let mut users = transfer.export().await.map_err(failed)?;
    let mut count = 0;
    loop {
        let page = users.next_page().await.map_err(failed)?;
        if page.is_empty() {
            return Ok((count, lines.into_inner().map_err(failed)?));
        }
        for user in &page {
            serde_json::to_writer(&mut lines, &UserLine::of(user)).map_err(failed)?;
            lines.write_all(b"\n").map_err(failed)?;
            count += 1;
        }
    }
}
