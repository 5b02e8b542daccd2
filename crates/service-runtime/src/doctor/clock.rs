//! The clock of this machine against the database's, which all replicas have in common.

use super::Check;

const SUBJECT: &str = "clock";

/// Far beyond what time synchronization leaves, far below the 30 minutes of an access token.
const TOLERATED_SECONDS: f64 = 5.0;

/// 2026-01-01T00:00:00Z: this program is younger.
const BEFORE_THIS_PROGRAM: u64 = 1_767_225_600;

/// Whether the clock here, in whole seconds since 1970, agrees with the database's, in seconds likewise
/// and asked for a moment ago; `consequence` is what happens where they do not.
#[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are far below 2^52")]
#[must_use]
pub fn clock(here: u64, of_database: Option<f64>, consequence: &str) -> Check {
    if here < BEFORE_THIS_PROGRAM {
        return Check::failed(SUBJECT, "this machine's clock is years behind; set it");
    }
    let Some(there) = of_database else {
        return Check::ok(
            SUBJECT,
            "is plausible; SQLite has no clock of its own to compare it with",
        );
    };
    // Ours is in whole seconds, so the middle of the second is the best guess.
    let ahead = here as f64 + 0.5 - there;
    if ahead.abs() <= TOLERATED_SECONDS {
        return Check::ok(SUBJECT, "agrees with the database's");
    }
    let direction = if ahead > 0.0 { "ahead of" } else { "behind" };
    Check::failed(
        SUBJECT,
        format!(
            "this machine's clock is {:.0} seconds {direction} the database's; synchronize both, \
             or {consequence}",
            ahead.abs()
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::Check, BEFORE_THIS_PROGRAM, clock};

    fn judge(here: u64, there: Option<f64>) -> Check {
        clock(here, there, "something bad happens")
    }

    #[test]
    fn a_clock_that_is_off_by_more_than_five_seconds_is_wrong() {
        let here = BEFORE_THIS_PROGRAM + 1000;
        let there = |offset: f64| {
            let seconds = u32::try_from(here).expect("before 2106");
            judge(here, Some(f64::from(seconds) + 0.5 + offset))
        };
        for offset in [0.0, 4.9, -4.9] {
            assert!(!there(offset).has_failed(), "{offset}");
        }
        assert!(there(60.0).text.contains("60 seconds behind"), "{:?}", there(60.0));
        assert!(there(-60.0).text.contains("60 seconds ahead of"), "{:?}", there(-60.0));
        assert!(there(60.0).has_failed());
        assert!(there(60.0).text.ends_with(", or something bad happens"));
    }

    #[test]
    fn without_another_clock_only_a_wild_one_is_noticed() {
        assert!(!judge(BEFORE_THIS_PROGRAM, None).has_failed());
        assert!(judge(0, None).has_failed());
    }
}
