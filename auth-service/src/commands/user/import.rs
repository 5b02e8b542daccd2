//! `user import`: imports users with their password hashes from lines of JSON.
//!
//! `reader` reads the lines in batches, and `user_line` parses each. `Importer` reports or skips
//! users whose names or ids are taken, and inserts the others. If no line is bad, all are inserted
//! in one transaction. With `--continue`, each batch has its own transaction and bad lines are left
//! out. `report` counts users and prints bad lines.

mod reader;
mod report;

use super::{operator::Operator, user_line::LineReader};
use crate::{
    password::{HashExceptions, HashRules},
    settings::ServiceSettings,
    store::{Import, StoreError},
    tokens::REVOCATION_AHEAD_SECONDS,
};
use clap::Args;
use reader::{Batch, Reader, UserWithLine};
use report::Report;
use rolegate_program::failure::{Failure, Incomplete};
use secrecy::ExposeSecret;
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    time::Instant,
};

#[derive(Args, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct ImportArguments {
    /// File with a JSON object on each line: username, `password_hash`, and optionally role, id, disabled, until,
    /// groups, `tokens_not_before` and `tokens_marked_until`; - for stdin
    file: PathBuf,
    /// Check all lines and import nothing
    #[arg(long, conflicts_with = "continue_")]
    dry_run: bool,
    /// Import the good lines in transactions of at most 1,000 and skip the bad ones
    #[arg(long = "continue")]
    continue_: bool,
    /// Skip users whose names exist already, instead of failing
    #[arg(long)]
    skip_existing: bool,
    /// Allow ids up to the highest that was ever assigned; such a user may inherit posts of a deleted user with the
    /// same id
    #[arg(long)]
    reuse_ids: bool,
    /// Allow bcrypt hashes of a cost above 14 and above `BCRYPT_COST`; every refused login then takes as long as the
    /// highest cost
    #[arg(long)]
    accept_slow_hashes: bool,
    /// Allow hashes below a tenth of OWASP's minimum
    #[arg(long)]
    accept_weak_hashes: bool,
}

struct Importer<'o> {
    operator: &'o Operator,
    arguments: &'o ImportArguments,
    reader: Reader,
    line_reader: LineReader,
    report: Report,
    /// The highest id before the import: ids up to it may have belonged to deleted users. It is 0
    /// with `--reuse-ids`, which allows every id that no user has now.
    highest_id: i64,
}

pub(super) async fn run(
    operator: &Operator,
    arguments: &ImportArguments,
    settings: &ServiceSettings,
) -> Result<(), Failure> {
    let reads_twice = !arguments.dry_run && !arguments.continue_;
    let reader = Reader::open(&arguments.file, reads_twice).await?;
    let peppers = settings.peppers()?;
    let exceptions = HashExceptions {
        slow: arguments.accept_slow_hashes,
        weak: arguments.accept_weak_hashes,
    };
    let now = operator.now().await?;
    let revocation_time = now.saturating_add(REVOCATION_AHEAD_SECONDS);
    let line_reader = LineReader {
        peppers,
        rules: HashRules::new(settings.bcrypt_cost, exceptions),
        roles: operator.roles.clone(),
        now: now.try_into().unwrap_or(i64::MAX),
        revocation_time: revocation_time.try_into().unwrap_or(i64::MAX),
    };
    let highest_id = if arguments.reuse_ids {
        0
    } else {
        operator.database.highest_id().await?
    };
    let mut importer = Importer {
        operator,
        arguments,
        reader,
        line_reader,
        report: Report::default(),
        highest_id,
    };
    if arguments.continue_ {
        importer.import_valid_lines().await
    } else {
        importer.import_all_or_nothing().await
    }
}

impl Importer<'_> {
    /// Imports all users, or none if a line is bad. With `--dry-run`, it only checks the lines.
    ///
    /// Every line is checked before the first is inserted, so that the transaction is short and
    /// never waits for the input.
    async fn import_all_or_nothing(&mut self) -> Result<(), Failure> {
        let importable = self.check_lines().await?;
        self.report.print_totals();
        if self.report.bad > 0 {
            let problem = format!("nothing was imported: {} bad lines", self.report.bad);
            return Err(problem.into());
        }
        if self.arguments.dry_run {
            self.report.finish_dry_run(importable);
            return Ok(());
        }
        self.reader.rewind().await?;
        self.report = Report::default();
        self.insert_lines().await?;
        self.report.finish();
        Ok(())
    }

    /// Reads the next batch of users; `None` at the end. Bad lines are reported.
    async fn next_batch(&mut self) -> Result<Option<Batch>, Failure> {
        self.reader.next(&self.line_reader, &mut self.report).await
    }

    /// Checks all lines, reports bad ones, and returns the number of users that can be imported.
    async fn check_lines(&mut self) -> Result<usize, Failure> {
        let mut importable = 0;
        while let Some(mut batch) = self.next_batch().await? {
            self.keep_importable(&mut batch).await?;
            importable += batch.len();
            for line in &batch {
                let hash = &line.user.password_hash;
                self.report.hashes.add(hash.expose_secret());
            }
        }
        Ok(importable)
    }

    /// Inserts all users in one transaction. Fails, and inserts none, if a line has become bad
    /// since it was checked.
    async fn insert_lines(&mut self) -> Result<(), Failure> {
        let mut import = self.operator.database.import().await?;
        while let Some(mut batch) = self.next_batch().await? {
            if self.arguments.skip_existing {
                self.keep_importable(&mut batch).await?;
            }
            self.insert(&mut import, batch).await?;
            if self.report.bad > 0 {
                let problem = "nothing was imported: the store or the file has changed meanwhile";
                return Err(problem.into());
            }
        }
        Ok(import.commit().await?)
    }

    /// Imports the valid lines, one transaction for each batch. Fails at the end if there were bad
    /// lines.
    async fn import_valid_lines(&mut self) -> Result<(), Failure> {
        let outcome = self.import_batches().await;
        self.report.print_totals();
        self.report.finish();
        outcome?;
        match self.report.bad {
            0 => Ok(()),
            bad => Err(Incomplete(format!("{bad} bad lines were not imported")).into()),
        }
    }

    async fn import_batches(&mut self) -> Result<(), Failure> {
        while let Some(mut batch) = self.next_batch().await? {
            self.keep_importable(&mut batch).await?;
            let began = Instant::now();
            self.import_batch(batch).await?;
            if self.operator.database_url.sqlite_file().is_some() {
                // SQLite has one writer at a time, so after each batch the service gets as much
                // time as the batch took.
                tokio::time::sleep(began.elapsed()).await;
            }
        }
        Ok(())
    }

    /// Imports a batch in a transaction of its own. If the transaction fails, the users of the
    /// batch do not count as imported.
    async fn import_batch(&mut self, batch: Batch) -> Result<(), Failure> {
        let mut import = self.operator.database.import().await?;
        let imported_before = self.report.imported;
        let hashes_before = self.report.hashes;
        let written = async {
            self.insert(&mut import, batch).await?;
            import.commit().await
        };
        if let Err(error) = written.await {
            self.report.imported = imported_before;
            self.report.hashes = hashes_before;
            return Err(error.into());
        }
        Ok(())
    }

    /// Inserts users whose names and ids were free when they were checked. Reports a line as bad if
    /// its name or id was taken since.
    async fn insert(&mut self, import: &mut Import, batch: Batch) -> Result<(), StoreError> {
        let users = batch.iter().map(|line| line.user.clone()).collect();
        let inserted = import.insert(users).await?;
        for UserWithLine { number, user } in &batch {
            if inserted.contains(&user.username) {
                self.report.imported += 1;
                self.report.hashes.add(user.password_hash.expose_secret());
            } else {
                self.report
                    .add_bad_line(*number, "the username or the id is taken");
            }
        }
        Ok(())
    }

    /// Keeps the users whose names and ids are free, and reports or skips the other users.
    async fn keep_importable(&mut self, batch: &mut Batch) -> Result<(), Failure> {
        let existing_names = self.existing_names(batch).await?;
        let owners = self.owners_of_ids(batch).await?;
        let report = &mut self.report;
        batch.retain(|line| {
            let username = &line.user.username;
            if existing_names.contains(username) {
                if self.arguments.skip_existing {
                    report.skipped += 1;
                } else {
                    report.add_existing_user(line.number, username);
                }
                return false;
            }
            let id = line.user.id;
            let problem = id.and_then(|id| check_id(id, self.highest_id, &owners).err());
            if let Some(problem) = &problem {
                report.add_bad_line(line.number, problem);
            }
            problem.is_none()
        });
        Ok(())
    }

    async fn existing_names(&self, batch: &Batch) -> Result<HashSet<String>, StoreError> {
        let names: Vec<_> = batch
            .iter()
            .map(|line| line.user.username.clone())
            .collect();
        let existing = self
            .operator
            .store
            .credentials_by_username(&names, &[])
            .await?;
        let existing = existing.value.into_iter();
        Ok(existing.map(|found| found.user.username).collect())
    }

    /// Finds the ids of the batch that users have already. Returns the usernames of these users by
    /// id.
    async fn owners_of_ids(&self, batch: &Batch) -> Result<HashMap<i64, String>, StoreError> {
        let ids: Vec<_> = batch.iter().filter_map(|line| line.user.id).collect();
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let owners = self.operator.store.users_by_id(&ids, &[]).await?;
        let owners = owners.value.into_iter();
        Ok(owners.map(|user| (user.id, user.username)).collect())
    }
}

/// Fails if a user has the id, or if a deleted user may have had it.
fn check_id(id: i64, highest_id: i64, owners: &HashMap<i64, String>) -> Result<(), String> {
    if let Some(owner) = owners.get(&id) {
        return Err(format!("the id is that of the user {owner:?}"));
    }
    if id <= highest_id {
        let problem = "the id may have been that of a deleted user, whose posts this user would \
                       inherit; --reuse-ids imports it";
        return Err(problem.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
