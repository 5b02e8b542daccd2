//! `user end-all`: ends the credentials of all users, but API keys only with `--keys`. `rolegate
//! restore` does the same for the users of a backup, and keeps their API keys.

use super::operator::Operator;
use crate::{
    audit::{BulkChange, Requested},
    principal::Principal,
    store::{self, ApiKeys, EndOfAll, FileClock, HighWaterMarks, OperatorDatabase},
};
use rolegate_program::{failure::Failure, output::print};
use rolegate_sql_store::{DatabaseUrl, Store as _};
use std::pin::Pin;

/// Returns the question that the operator must confirm. It is asked before the database is opened,
/// because opening advances the clock of an SQLite file.
pub(super) fn question(api_keys: ApiKeys) -> &'static str {
    match api_keys {
        ApiKeys::Delete => "Log everybody out, and delete every API key?",
        ApiKeys::Keep => "Log everybody out?",
    }
}

pub(super) async fn run(operator: &Operator, api_keys: ApiKeys) -> Result<(), Failure> {
    let nothing_replaced = HighWaterMarks::default();
    let report = end(
        &operator.database,
        BulkChange::EndAll,
        api_keys,
        nothing_replaced,
    );
    print(&report.await?);
    Ok(())
}

/// Ends the credentials of all users, logs the event, and returns the report for the operator. If
/// the outcome of the commit is unknown, that is logged instead. `replaced` has the highest ids and
/// revision of a database that a backup replaces, because they must not be assigned again.
async fn end(
    database: &OperatorDatabase,
    change: BulkChange,
    api_keys: ApiKeys,
    replaced: HighWaterMarks,
) -> Result<String, Failure> {
    let request = Requested::new(Principal::Operator, change);
    let end = database
        .end_all(api_keys, replaced, &request)
        .await
        .inspect_err(|error| {
            if error.is_outcome_unknown() {
                request.log_outcome_unknown();
            }
        })?;
    request.entry_for_end(end.ended).log();
    Ok(report(&end))
}

/// Migrates the schema of a backup's users and ends all credentials as `user end-all` does without
/// `--keys`, before the backup's file replaces another one. `replaced` has the highest ids and
/// revision of that other file. Returns the report for the operator.
#[must_use]
pub fn end_all_restored(
    users: DatabaseUrl,
    replaced: HighWaterMarks,
) -> Pin<Box<dyn Future<Output = Result<String, Failure>>>> {
    // The future is boxed, so that rolegate does not compile the store again.
    Box::pin(async move {
        let (store, database) = store::open_beside(&users, FileClock::Advance).await?;
        let report = end(&database, BulkChange::Restore, ApiKeys::Keep, replaced).await;
        store.close().await;
        report
    })
}

/// Describes for the operator how many credentials were ended, and how many API keys are left.
fn report(end: &EndOfAll) -> String {
    let ended = end.ended;
    let sessions = count_noun(ended.sessions, "session", "sessions");
    let links = count_noun(ended.links, "password link", "password links");
    let enrollments = count_noun(
        ended.second_factors,
        "unfinished second-factor enrollment",
        "unfinished second-factor enrollments",
    );
    let api_keys = match (ended.api_keys, end.live_api_keys) {
        (0, 0) => "No API key is usable now.".to_owned(),
        (0, 1) => "1 API key stays valid; user end-all --keys deletes it.".to_owned(),
        (0, live) => format!("{live} API keys stay valid; user end-all --keys deletes them."),
        (deleted, _) => format!("Deleted {}.", count_noun(deleted, "API key", "API keys")),
    };
    format!("Revoked all access tokens. Ended {sessions}, {links} and {enrollments}. {api_keys}")
}

fn count_noun(count: i64, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}
