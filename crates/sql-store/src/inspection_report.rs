//! Reports on an inspected database for `doctor`.

use crate::{DatabaseUrl, Inspection, Schema, unix_millis};
use rolegate_program::{doctor::Doctor, failure::Failure};
use std::time::Duration;

/// The maximum difference between two clocks that `doctor` accepts. It is far more than synchronized clocks
/// differ by, and far less than the lifetime of an access token.
const MAX_CLOCK_SKEW_SECONDS: f64 = 5.0;

/// Adds the state of an inspected database to the report of `doctor` as `step`, and compares the clock of the
/// database with that of this machine.
///
/// `doctor` migrates nothing, so pending migrations are not a failure. Returns the inspection; `None` if it
/// failed.
pub fn check_database<F>(
    doctor: &mut Doctor,
    step: &str,
    url: &DatabaseUrl,
    inspected: Result<Inspection<F>, Failure>,
) -> Option<Inspection<F>> {
    let inspection = match inspected {
        Ok(inspection) => inspection,
        Err(error) => {
            doctor.fail(step, error);
            return None;
        }
    };
    match check_schema(&inspection) {
        Ok(state) => doctor.ok(step, format!("{url}: {state}")),
        Err(problem) => doctor.fail(step, format!("{url}: {problem}")),
    }
    if let Some(database) = inspection.clock {
        let now = Duration::from_millis(unix_millis().unsigned_abs());
        doctor.report("clock", check_clock(now.as_secs_f64(), database));
    }
    Some(inspection)
}

/// Describes the state of the schema. The error says why a service could not start on this database.
fn check_schema<F>(inspection: &Inspection<F>) -> Result<String, &'static str> {
    if !inspection.accepts_writes {
        return Err("does not accept writes (a standby or a read-only file); use the primary");
    }
    Ok(match &inspection.schema {
        Schema::Current => "the schema is up to date".to_owned(),
        Schema::Newer => "a newer release created the schema; this one works with it".to_owned(),
        Schema::Missing { can_create: true } => {
            "there is no schema yet; migrate or the first start creates it".to_owned()
        }
        Schema::Missing { can_create: false } => {
            return Err(
                "there is no schema yet, and this database user may not create it; GRANT it \
                        CREATE, or make it the owner of the database",
            );
        }
        Schema::Older { missing } => {
            format!("{missing} migration(s) are pending; migrate or the next start applies them")
        }
    })
}

/// Compares the clock of this machine with the clock of the database, both in Unix seconds. The error says how
/// far apart they are.
fn check_clock(now: f64, database: f64) -> Result<&'static str, String> {
    let skew = now - database;
    if skew.abs() <= MAX_CLOCK_SKEW_SECONDS {
        return Ok("agrees with the clock of the database");
    }
    let direction = if skew > 0.0 { "ahead of" } else { "behind" };
    let seconds = skew.abs();
    let advice = "synchronize both; for an SQLite file see Clocks in docs/backup-and-recovery.md";
    Err(format!(
        "{seconds:.0} seconds {direction} the clock of the database; {advice}"
    ))
}

#[cfg(test)]
mod tests {
    use super::check_clock;

    #[test]
    fn a_clock_that_differs_by_more_than_five_seconds_fails() {
        for offset in [-5.0, 0.0, 5.0] {
            assert!(check_clock(1000.0 + offset, 1000.0).is_ok(), "{offset}");
        }
        let ahead = check_clock(1060.0, 1000.0).expect_err("60 seconds");
        assert!(ahead.starts_with("60 seconds ahead of"), "{ahead}");
        let behind = check_clock(1000.0, 1060.0).expect_err("60 seconds");
        assert!(behind.starts_with("60 seconds behind"), "{behind}");
    }
}
