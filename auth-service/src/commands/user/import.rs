//! `user import`.

mod reader;
mod report;

use super::{operator::Operator, user_line::LineReader};
use crate::{
    password::HashRules,
    settings::ServiceSettings,
    store::{Import, StoreError, UserRecord},
    user::REVOCATION_AHEAD_SECONDS,
};
use clap::Args;
use reader::{Batch, Reader};
use report::Report;
use rolegate_program::program::{Failure, Incomplete};
use rolegate_sql_store::DatabaseTarget;
use secrecy::ExposeSecret;
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Instant,
};

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct ImportArguments {
    /// File with a JSON object on each line: username, `password_hash`, and optionally role, id, disabled, `tokens_not_before` and `tokens_marked_until`; - for stdin
    file: PathBuf,
    /// Check all lines and import nothing
    #[arg(long, conflicts_with = "continue_")]
    dry_run: bool,
    /// Import the good lines in transactions of at most 1,000 and skip the bad ones
    #[arg(long = "continue")]
    continue_: bool,
    /// Skip users whose names exist already, instead of an error
    #[arg(long)]
    skip_existing: bool,
    /// Import ids up to the highest that was ever assigned: such a user gets the posts of a deleted user of this id
    #[arg(long)]
    reuse_ids: bool,
    /// Import bcrypt hashes of a cost above 14 and `BCRYPT_COST`: every refused login takes as long as the highest cost
    #[arg(long)]
    accept_slow_hashes: bool,
    /// Import hashes below a tenth of OWASP's minimum
    #[arg(long)]
    accept_weak_hashes: bool,
}

struct Importer<'o> {
    operator: &'o Operator,
    arguments: &'o ImportArguments,
    format: LineReader,
    /// As it was before the import: up to this id, users may have had it who are deleted.
    highest_id: i64,
}

pub(super) async fn run(
    operator: &Operator,
    arguments: &ImportArguments,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let twice = !arguments.dry_run && !arguments.continue_;
    let reader = Reader::open(&arguments.file, twice).await?;
    let peppers = settings.peppers()?;
    let ImportArguments {
        accept_slow_hashes: slow,
        accept_weak_hashes: weak,
        ..
    } = *arguments;
    let rules = HashRules::new(settings.bcrypt_cost, slow, weak);
    let now = operator.now().await?;
    let revocation_time = now.saturating_add(REVOCATION_AHEAD_SECONDS);
    let now = now.try_into().unwrap_or(i64::MAX);
    let revocation_time = revocation_time.try_into().unwrap_or(i64::MAX);
    let highest_id = if arguments.reuse_ids {
        0
    } else {
        operator.transfer.highest_id().await?
    };
    let format = LineReader {
        peppers,
        rules,
        roles: operator.roles.clone(),
        now,
        revocation_time,
    };
    let importer = Importer {
        operator,
        arguments,
        format,
        highest_id,
    };
    if arguments.continue_ {
        importer.good_lines(reader).await
    } else {
        importer.all_or_nothing(reader).await
    }
}

impl Importer<'_> {
    /// Checks every line before the first is inserted, so that the transaction is short and never waits
    /// for the input.
    async fn all_or_nothing(&self, mut reader: Reader) -> Result<(), Failure> {
        let mut report = Report::default();
        let mut free = 0;
        while let Some(mut batch) = reader.next(&self.format, &mut report).await? {
            self.keep_free(&mut batch, &mut report).await?;
            free += batch.len();
            for (_, user) in &batch {
                report.hashes.add(user.password_hash.expose_secret());
            }
        }
        report.print_rest();
        if report.bad > 0 {
            let problem = format!("nothing was imported: {} bad lines", report.bad);
            return Err(problem.into());
        }
        if self.arguments.dry_run {
            report.finish_dry_run(free);
            return Ok(());
        }
        reader.rewind().await?;
        let mut report = Report::default();
        let mut import = self.operator.transfer.import().await?;
        while let Some(mut batch) = reader.next(&self.format, &mut report).await? {
            if self.arguments.skip_existing {
                self.keep_free(&mut batch, &mut report).await?;
            }
            insert(&mut import, batch, &mut report).await?;
            if report.bad > 0 {
                let problem = "nothing was imported: the store or the file has changed meanwhile";
                return Err(problem.into());
            }
        }
        import.commit().await?;
        report.finish();
        Ok(())
    }

    /// Imports what it can, batch by batch.
    async fn good_lines(&self, mut reader: Reader) -> Result<(), Failure> {
        let mut report = Report::default();
        let imported = async {
            while let Some(mut batch) = reader.next(&self.format, &mut report).await? {
                self.keep_free(&mut batch, &mut report).await?;
                let began = Instant::now();
                let mut import = self.operator.transfer.import().await?;
                let before = (report.imported, report.hashes);
                let written = async {
                    insert(&mut import, batch, &mut report).await?;
                    import.commit().await
                };
                if let Err(error) = written.await {
                    (report.imported, report.hashes) = before;
                    return Err(error.into());
                }
                if matches!(self.operator.database.target, DatabaseTarget::Sqlite(_)) {
                    // One writer at a time: the service gets as much time as the import.
                    tokio::time::sleep(began.elapsed()).await;
                }
            }
            Ok(())
        };
        let outcome = imported.await;
        report.print_rest();
        report.finish();
        match report.bad {
            _ if outcome.is_err() => outcome,
            0 => Ok(()),
            bad => Err(Incomplete(format!("{bad} bad lines were not imported")).into()),
        }
    }

    /// Keeps the users whose names and ids are free.
    async fn keep_free(&self, batch: &mut Batch, report: &mut Report) -> Result<(), Failure> {
        let store = &self.operator.store;
        let names: Vec<_> = batch
            .iter()
            .map(|(_, user)| user.username.clone())
            .collect();
        let existing = store.credentials_by_username(&names).await?.value;
        let names: HashSet<_> = existing
            .into_iter()
            .map(|found| found.user.username)
            .collect();
        let ids: Vec<_> = batch.iter().filter_map(|(_, user)| user.id).collect();
        let with_ids = if ids.is_empty() {
            Vec::new()
        } else {
            store.users_by_id(&ids).await?.value
        };
        let ids: HashMap<_, _> = with_ids
            .into_iter()
            .map(|it| (it.id, it.username))
            .collect();
        batch.retain(|(number, user)| {
            if names.contains(&user.username) {
                if self.arguments.skip_existing {
                    report.skipped += 1;
                } else {
                    report.existing_user(*number, &user.username);
                }
            } else if let Some(owner) = user.id.and_then(|id| ids.get(&id)) {
                report.bad_line(*number, &format!("the id is that of the user {owner:?}"));
            } else if user.id.is_some_and(|id| id <= self.highest_id) {
                let reason = "the id may have been that of a deleted user, whose posts this user \
                              would inherit; --reuse-ids imports it";
                report.bad_line(*number, reason);
            } else {
                return true;
            }
            false
        });
        Ok(())
    }
}

/// Inserts users whose names and ids were free a moment ago.
async fn insert(import: &mut Import, batch: Batch, report: &mut Report) -> Result<(), StoreError> {
    let (numbers, users): (Vec<u64>, Vec<UserRecord>) = batch.into_iter().unzip();
    let inserted = import.insert(&users).await?;
    for (number, user) in numbers.into_iter().zip(&users) {
        if inserted.contains(&user.username) {
            report.imported += 1;
            report.hashes.add(user.password_hash.expose_secret());
        } else {
            report.bad_line(number, "the username or the id is taken");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
