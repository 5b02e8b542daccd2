//! The step of `doctor` for a database.

use crate::{DatabaseUrl, Inspection, OpenError, Schema};
use rolegate_program::settings::SettingError;

/// Far more than time synchronization leaves, far less than the lifetime of an access token.
const MAX_CLOCK_SKEW_SECONDS: f64 = 5.0;

/// Reports on the database, inspected and not migrated, as `step`, and on its clock. `now`: seconds since
/// 1970.
pub async fn check_database(
    mut report: impl FnMut(&str, Result<String, String>),
    step: &str,
    url: Result<DatabaseUrl, SettingError>,
    inspect: impl AsyncFnOnce(&DatabaseUrl) -> Result<Inspection, OpenError>,
    now: u64,
) -> Option<Inspection> {
    let inspected = match &url {
        Ok(url) => inspect(url).await.map(|found| (url, found)).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match inspected {
        Ok((url, found)) => {
            let outcome = check_schema(&found).map(|state| format!("{url}: {state}"));
            report(step, outcome.map_err(|problem| format!("{url}: {problem}")));
            if let Some(database) = found.clock {
                report("clock", check_clock(now, database).map(str::to_owned));
            }
            Some(found)
        }
        Err(error) => {
            report(step, Err(error));
            None
        }
    }
}

/// Whether a start would succeed on this database.
fn check_schema(found: &Inspection) -> Result<String, String> {
    if !found.takes_writes {
        let problem = "accepts no writes (a standby, or a read-only file); use the primary";
        return Err(problem.to_owned());
    }
    match &found.schema {
        Schema::Current => Ok("the schema is up to date".to_owned()),
        Schema::Newer => Ok("a newer release created the schema; this one works with it".to_owned()),
        Schema::Missing { can_create: true } => {
            Ok("there is no schema yet; migrate or the first start creates it".to_owned())
        }
        Schema::Missing { can_create: false } => Err(
            "there is no schema yet, and this database user may not create it; GRANT it CREATE, or \
             make it the owner of the database"
                .to_owned(),
        ),
        Schema::Older { missing } => {
            Ok(format!("{missing} migration(s) are pending; migrate or the next start applies them"))
        }
    }
}

/// Compares the clock of this machine, in whole seconds, with the clock of the database.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
fn check_clock(now: u64, database: f64) -> Result<&'static str, String> {
    // The middle of the second is the best estimate.
    let skew = now as f64 + 0.5 - database;
    if skew.abs() <= MAX_CLOCK_SKEW_SECONDS {
        return Ok("agrees with the clock of the database");
    }
    let direction = if skew > 0.0 { "ahead of" } else { "behind" };
    let seconds = skew.abs();
    let advice = "synchronize both; for an SQLite file see Clocks in docs/operations.md";
    Err(format!("{seconds:.0} seconds {direction} the clock of the database; {advice}"))
}

#[cfg(test)]
mod tests {
    use super::check_clock;

    #[test]
    fn a_clock_that_differs_by_more_than_five_seconds_fails() {
        for offset in [0_u64, 4] {
            assert!(check_clock(1000 + offset, 1000.5).is_ok(), "{offset}");
            assert!(check_clock(1000 - offset, 1000.5).is_ok(), "{offset}");
        }
        let ahead = check_clock(1060, 1000.5).expect_err("60 seconds");
        assert!(ahead.starts_with("60 seconds ahead of"), "{ahead}");
        let behind = check_clock(1000, 1060.5).expect_err("60 seconds");
        assert!(behind.starts_with("60 seconds behind"), "{behind}");
    }
}
