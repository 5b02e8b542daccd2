//! The clock of this machine against the database's: replicas that disagree about the time disagree
//! about which tokens have expired.

use super::{Finding, good, wrong};
use crate::clock::{Clock, SystemClock};

const SUBJECT: &str = "clock";

/// Far beyond what time synchronization leaves, far below a token's 30 minutes.
const TOLERATED_SECONDS: f64 = 5.0;

/// 2026-01-01T00:00:00Z: this program is younger.
const BEFORE_THIS_PROGRAM: u64 = 1_767_225_600;

/// `of_database`: seconds since 1970, asked for a moment ago.
pub(super) fn check(of_database: Option<f64>) -> Finding {
    judge(SystemClock.unix_seconds(), of_database)
}

#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
fn judge(here: u64, of_database: Option<f64>) -> Finding {
    if here < BEFORE_THIS_PROGRAM {
        return wrong(SUBJECT, "this machine's clock is years behind; set it");
    }
    let Some(there) = of_database else {
        return good(SUBJECT, "is plausible; SQLite has no clock of its own to compare it with");
    };
    // Ours is in whole seconds, so the middle of the second is the best guess.
    let ahead = here as f64 + 0.5 - there;
    if ahead.abs() <= TOLERATED_SECONDS {
        return good(SUBJECT, "agrees with the database's");
    }
    let direction = if ahead > 0.0 { "ahead of" } else { "behind" };
    wrong(
        SUBJECT,
        format!(
            "this machine's clock is {:.0} seconds {direction} the database's; synchronize both, \
             or tokens expire too soon or too late",
            ahead.abs()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, BEFORE_THIS_PROGRAM, judge};

    #[test]
    fn a_clock_that_is_off_by_more_than_five_seconds_is_wrong() {
        let here = BEFORE_THIS_PROGRAM + 1000;
        let there = |offset: f64| {
            let seconds = u32::try_from(here).expect("before 2106");
            judge(here, Some(f64::from(seconds) + 0.5 + offset))
        };
        for offset in [0.0, 4.9, -4.9] {
            assert_eq!(there(offset).verdict, Verdict::Good, "{offset}");
        }
        assert!(there(60.0).text.contains("60 seconds behind"), "{:?}", there(60.0));
        assert!(there(-60.0).text.contains("60 seconds ahead of"), "{:?}", there(-60.0));
        assert_eq!(there(60.0).verdict, Verdict::Wrong);
    }

    #[test]
    fn without_another_clock_only_a_wild_one_is_noticed() {
        assert_eq!(judge(BEFORE_THIS_PROGRAM, None).verdict, Verdict::Good);
        assert_eq!(judge(0, None).verdict, Verdict::Wrong);
    }
}
