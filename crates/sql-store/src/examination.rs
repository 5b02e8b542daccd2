//! What `doctor` says of a database: it answers, has our schema or room for it, and takes writes.

use crate::{
    Inspection, NotInspected, NotOpened, Place, Question, Schema, StoreUrl, Tables, sqlite,
};
use service_runtime::{
    doctor::{Finding, clock},
    settings::SettingError,
};

const SUBJECT: &str = "database";

/// What a service wants to know of its database.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Its own tables.
    pub tables: &'a Tables,
    /// One thing more, asked where its tables are there.
    pub question: Option<Question>,
    /// Seconds since 1970 by the clock of this machine.
    pub now: u64,
    /// What happens where that is not the time of the database: "or …".
    pub harm_of_clocks: &'static str,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// What is said.
    pub findings: Vec<Finding>,
    /// What the question was answered: no, where the tables are still to be made; `None` where nobody
    /// can tell.
    pub answer: Option<bool>,
}

impl Examination<'_> {
    /// Looks at the database. Changes nothing, and does not wait for one that is not there.
    pub async fn of(self, url: &StoreUrl) -> Examined {
        if let Place::Sqlite(file) = url.place() {
            match sqlite::is_there(file) {
                Ok(true) => {}
                Ok(false) => {
                    let new = "does not exist yet; migrate or the first start makes it";
                    let new = Finding::good(SUBJECT, format!("{} {new}", file.display()));
                    return Examined { findings: vec![new], answer: Some(false) };
                }
                Err(problem) => return unusable(&url.wrong(problem)),
            }
        }
        match url.inspect(self.tables, self.question).await {
            Ok(found) => self.judge(url, &found),
            Err(NotInspected::NotOpened(NotOpened::Setting(error))) => unusable(&error),
            Err(error) => {
                let findings = vec![Finding::wrong(SUBJECT, error.to_string())];
                Examined { findings, answer: None }
            }
        }
    }

    fn judge(self, url: &StoreUrl, found: &Inspection) -> Examined {
        let mut findings = vec![Finding::good(SUBJECT, format!("{url} answers"))];
        findings.push(self.schema(url, &found.schema));
        if !found.takes_writes {
            let why = "it takes no writes (a standby, or a read-only file); use the primary";
            findings.push(Finding::wrong(SUBJECT, why));
        }
        findings.push(clock(self.now, found.clock, self.harm_of_clocks));
        let is_to_be_made = matches!(found.schema, Schema::Missing { .. });
        Examined { findings, answer: if is_to_be_made { Some(false) } else { found.answer } }
    }

    fn schema(self, url: &StoreUrl, schema: &Schema) -> Finding {
        let good = |text: &str| Finding::good(SUBJECT, text);
        match schema {
            Schema::Current => good("the schema is up to date"),
            Schema::Missing { may_be_made: true } => {
                good("there is no schema yet; migrate or the first start makes it")
            }
            Schema::Missing { may_be_made: false } => {
                let place = if self.tables.schema.is_some() { "database" } else { "schema" };
                let problem = "there is no schema yet, and this database user may not make it";
                let right =
                    format!("GRANT CREATE on the {place}, or let the user own the database");
                Finding::wrong(SUBJECT, format!("{problem}; {right}"))
            }
            Schema::Older { missing } => {
                let right = "migrate or the next start applies them";
                good(&format!("{missing} migration(s) are missing; {right}"))
            }
            Schema::Newer => good("a newer Rolegate made the schema; this one works with it"),
            Schema::Foreign(why) => wrong_setting(&url.foreign(why)),
        }
    }
}

fn unusable(error: &SettingError) -> Examined {
    Examined { findings: vec![wrong_setting(error)], answer: None }
}

/// In the words of a start.
fn wrong_setting(error: &SettingError) -> Finding {
    Finding::wrong(SUBJECT, error.to_string())
}
