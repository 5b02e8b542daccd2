//! What `doctor` says of a database: it answers, has our schema or room for it, and takes writes.

use crate::{
    DatabaseTarget, DatabaseUrl, InspectError, Inspection, OpenError, ProbeQuery, Schema, Tables,
    sqlite,
};
use rolegate_service_runtime::{
    doctor::{Check, clock},
    settings::SettingError,
};

const SUBJECT: &str = "database";

/// What a service wants to know of its database.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseCheck<'a> {
    /// Its own tables.
    pub tables: &'a Tables,
    /// One thing more, asked where its tables are there.
    pub question: Option<ProbeQuery>,
    /// Seconds since 1970 by the clock of this machine.
    pub now: u64,
    /// What happens where that is not the time of the database: "or …".
    pub harm_of_clocks: &'static str,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// What is said.
    pub findings: Vec<Check>,
    /// What the question was answered: no, where the tables are still to be made; `None` where nobody
    /// can tell.
    pub answer: Option<bool>,
}

impl DatabaseCheck<'_> {
    /// Looks at the database. Changes nothing, and does not wait for one that is not there.
    pub async fn of(self, url: &DatabaseUrl) -> CheckReport {
        if let DatabaseTarget::Sqlite(file) = url.target() {
            match sqlite::file_exists(file) {
                Ok(true) => {}
                Ok(false) => {
                    let new = "does not exist yet; migrate or the first start makes it";
                    let new = Check::ok(SUBJECT, format!("{} {new}", file.display()));
                    return CheckReport { findings: vec![new], answer: Some(false) };
                }
                Err(problem) => return unusable(&url.invalid(problem)),
            }
        }
        match url.inspect(self.tables, self.question).await {
            Ok(found) => self.judge(url, &found),
            Err(InspectError::OpenError(OpenError::Setting(error))) => unusable(&error),
            Err(error) => {
                let findings = vec![Check::failed(SUBJECT, error.to_string())];
                CheckReport { findings, answer: None }
            }
        }
    }

    fn judge(self, url: &DatabaseUrl, found: &Inspection) -> CheckReport {
        let mut findings = vec![Check::ok(SUBJECT, format!("{url} answers"))];
        findings.push(self.schema(url, &found.schema));
        if !found.takes_writes {
            let why = "it takes no writes (a standby, or a read-only file); use the primary";
            findings.push(Check::failed(SUBJECT, why));
        }
        findings.push(clock(self.now, found.clock, self.harm_of_clocks));
        let is_to_be_made = matches!(found.schema, Schema::Missing { .. });
        CheckReport { findings, answer: if is_to_be_made { Some(false) } else { found.answer } }
    }

    fn schema(self, url: &DatabaseUrl, schema: &Schema) -> Check {
        let good = |text: &str| Check::ok(SUBJECT, text);
        match schema {
            Schema::Current => good("the schema is up to date"),
            Schema::Missing { can_create: true } => {
                good("there is no schema yet; migrate or the first start makes it")
            }
            Schema::Missing { can_create: false } => {
                let target = if self.tables.schema.is_some() { "database" } else { "schema" };
                let problem = "there is no schema yet, and this database user may not make it";
                let right =
                    format!("GRANT CREATE on the {target}, or let the user own the database");
                Check::failed(SUBJECT, format!("{problem}; {right}"))
            }
            Schema::Older { missing } => {
                let right = "migrate or the next start applies them";
                good(&format!("{missing} migration(s) are missing; {right}"))
            }
            Schema::Newer => good("a newer Rolegate made the schema; this one works with it"),
            Schema::Unrecognized(why) => wrong_setting(&url.unrecognized(why)),
        }
    }
}

fn unusable(error: &SettingError) -> CheckReport {
    CheckReport { findings: vec![wrong_setting(error)], answer: None }
}

/// In the words of a start.
fn wrong_setting(error: &SettingError) -> Check {
    Check::failed(SUBJECT, error.to_string())
}
