//! `user export`.

use super::{operator::Operator, user_line::UserLine};
use crate::{
    host::failed,
    store::{Export, Transfer},
};
use rolegate_service_runtime::program::Failure;
use rolegate_telemetry::audit_line;
use std::io::{self, BufWriter, Write};

/// Writes all users by ascending id, as they are at one moment. Keeps a page of them in memory.
pub(super) async fn run(operator: &Operator) -> Result<(), Failure> {
    let transfer = Transfer::open(&operator.database).await?;
    let mut count = 0_u64;
    let outcome = async {
        let mut users = transfer.export().await.map_err(failed)?;
        write(&mut users, &mut count).await
    };
    let outcome = outcome.await;
    // Also after a failure: these hashes have left the database.
    audit_line!("users_exported", count, by = "operator");
    transfer.close().await;
    outcome
}

async fn write(users: &mut Export<'_>, count: &mut u64) -> Result<(), Failure> {
    let mut stdout = BufWriter::new(io::stdout());
    loop {
        let page = users.next_page().await.map_err(failed)?;
        if page.is_empty() {
            return stdout.flush().map_err(failed);
        }
        for user in &page {
            serde_json::to_writer(&mut stdout, &UserLine::of(user)).map_err(failed)?;
            stdout.write_all(b"\n").map_err(failed)?;
            *count += 1;
        }
    }
}
