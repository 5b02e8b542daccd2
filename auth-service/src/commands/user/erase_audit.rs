//! `user erase-audit`: erases the name of a deleted user from the record and from API keys, and the
//! user's addresses from the record.

use super::operator::Operator;
use crate::{
    audit::{BulkChange, Requested},
    commands::{terminal::print_note, terminal_text::escape},
    principal::Principal,
    store::OperatorDatabase,
};
use rolegate_program::{failure::Failure, output::print};

/// The note for the operator on where an SQLite file still contains an erased name.
const LEFT_IN_SQLITE: &str = "The file keeps what was erased in free pages and in its log until you run VACUUM and \
    PRAGMA wal_checkpoint(TRUNCATE); backups keep it until you delete them.";

/// The note for the operator on where a PostgreSQL server still contains an erased name.
const LEFT_IN_POSTGRES: &str = "The server keeps what was erased in dead rows until you run VACUUM FULL audit, \
    audit_pending, api_key, \"user\"; its WAL archives and backups keep it until you delete them.";

/// Erases a name from the record, with the addresses from which users of this name acted, and from
/// the API keys that these users created for other users.
///
/// The erasure concerns all deleted users who had the name. It fails if a user has the name now,
/// because rows with the name could then be about that user. It also fails if nothing has the name,
/// or if rows kept the name because they were tampered with.
pub(super) async fn run(operator: &Operator, username: &str) -> Result<(), Failure> {
    if operator.find(username).await.is_ok() {
        return Err(format!("the user {username:?} exists; delete the user first").into());
    }
    let database = &operator.database;
    // Pending rows contain the name, too, so they are sealed before the erasure.
    operator.store.seal_all().await?;
    let ids = database.deleted_users(username).await?;
    let has_rows = !ids.is_empty();
    let mut kept = 0;
    for id in ids {
        kept += erase_user(database, id).await?;
    }
    let keys = database.erase_key_creator(username).await?;
    if !has_rows && keys == 0 {
        return Err(format!("the record has no deleted user {username:?}").into());
    }
    if keys > 0 {
        print(&format!(
            "The name is erased from {keys} API keys that the user created for others."
        ));
    }
    print(match operator.database_url.sqlite_file() {
        Some(_) => LEFT_IN_SQLITE,
        None => LEFT_IN_POSTGRES,
    });
    if kept > 0 {
        return Err(
            format!("{kept} rows were tampered with, so nothing was erased from them").into(),
        );
    }
    Ok(())
}

/// Erases the name and the addresses of one deleted user from the record, and prints how many rows
/// were changed. Returns the number of rows that still contain the name, because they were tampered
/// with.
async fn erase_user(database: &OperatorDatabase, id: i64) -> Result<usize, Failure> {
    let request = Requested::new(Principal::Operator, BulkChange::Erase);
    let mut erasure = database.begin_erasure(id, &request).await?;
    request.entry_for_erasure(id, erasure.counted).log();
    erasure.run().await?;
    print(&format!(
        "The name of user {id} is erased from {} rows.",
        erasure.erased
    ));
    for problem in &erasure.kept {
        print_note(&escape(problem));
    }
    Ok(erasure.kept.len())
}
