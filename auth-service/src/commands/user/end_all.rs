//! `user end-all`, and the same after a restore: ends every session and token of everybody.

use super::{confirmation, operator::Operator};
use crate::{
    audit::{Change, Ended, Write},
    store::{self, EndOfAll, FileClock, GivenOut, Transfer},
};
use rolegate_program::program::{Failure, print};
use rolegate_sql_store::DatabaseUrl;
use std::pin::Pin;

impl Operator {
    /// Asks first, unless `yes` or without a terminal.
    pub(super) async fn end_all(&self, deletes_api_keys: bool, yes: bool) -> Result<(), Failure> {
        let question = if deletes_api_keys {
            "Log everybody out, and delete every API key?"
        } else {
            "Log everybody out?"
        };
        if !yes && !confirmation::is_given(question).await? {
            return Err("nothing was ended".into());
        }
        let write = Write::by_operator(Change::AllEnded, None);
        let nothing_replaced = GivenOut::default();
        let end = end(&self.transfer, deletes_api_keys, nothing_replaced, &write).await?;
        print(&said(&end));
        Ok(())
    }
}

/// Ends all and writes the line of the log.
async fn end(
    transfer: &Transfer,
    deletes_api_keys: bool,
    replaced: GivenOut,
    write: &Write,
) -> Result<EndOfAll, Failure> {
    let ending = transfer.end_all(deletes_api_keys, replaced, write);
    let end = ending.await.inspect_err(|error| {
        if error.is_outcome_unknown() {
            write.record_unknown();
        }
    })?;
    write.of_end(end.ended).log();
    Ok(end)
}

/// Brings the users of a backup into the present, before they replace others: migrates their schema, and ends what
/// had ended since the backup was made, and everything else that `user end-all` ends. Says what it ended.
#[must_use]
pub fn end_all_restored(
    users: DatabaseUrl,
    replaced: GivenOut,
) -> Pin<Box<dyn Future<Output = Result<String, Failure>>>> {
    // Boxed, so that no other crate compiles the store again.
    Box::pin(async move {
        let (store, transfer) = store::open_beside(&users, FileClock::Advance).await?;
        let write = Write::by_operator(Change::Restored, None);
        let ended = end(&transfer, false, replaced, &write).await;
        store.close().await;
        Ok(said(&ended?))
    })
}

/// One sentence or two for the operator.
fn said(end: &EndOfAll) -> String {
    let Ended {
        sessions,
        links,
        second_factors,
        api_keys,
        ..
    } = end.ended;
    let of_keys = match (api_keys, end.live_api_keys) {
        (0, 0) => "There are no API keys.".to_owned(),
        (0, live) => format!("{live} API keys are still good; user end-all --keys deletes them."),
        (deleted, _) => format!("Deleted {deleted} API keys."),
    };
    format!(
        "Ended every access token, {sessions} sessions, {links} password links and {second_factors} second \
         factors that were begun. {of_keys}"
    )
}
