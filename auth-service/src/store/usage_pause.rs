//! Decides which sessions are idle after a usage pause, in which uses could not be stored.
//!
//! A session ends if its stored last use is too long ago. While no process can store uses, even a session in use seems
//! idle. So the seconds of such a pause do not count as time without use.

use std::{cmp::Reverse, ops::Range};

/// The maximum time by which the end of a pause may be later than the time of the database, in seconds.
///
/// A clock that was set back a little, or that differs between replicas, can cause an end in the future. A pause that
/// ends even later comes from a clock that was ahead, so it is ignored and deleted.
pub(crate) const MAX_PAUSE_AHEAD: u64 = 60;

/// A period during which no process could store uses, in Unix seconds. Any session may have been in use meanwhile, so
/// the period does not count as time without use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UsagePause {
    pub(crate) began: u64,
    pub(crate) ended: u64,
}

/// Returns the range in which the last use of a session must be for the session to be active at the time `at`.
///
/// A session whose last use is outside the range is idle. `limit` is the number of seconds without use after which a
/// session ends. The seconds of `pauses` up to `at` do not count towards `limit`, so they move the start of the range
/// back.
///
/// A clock that was ahead must not keep a session alive. So a last use later than `limit` after `at` is outside the
/// range, and a pause that ends later than [`MAX_PAUSE_AHEAD`] after `at` is ignored. Last uses may be further ahead
/// than the ends of pauses, because otherwise all sessions in use would end when a clock is set back by some minutes.
pub(crate) fn active_last_use_range(
    at: u64,
    limit: u64,
    mut pauses: Vec<UsagePause>,
) -> Range<u64> {
    pauses.retain(|pause| {
        pause.began < pause.ended.min(at) && pause.ended <= at.saturating_add(MAX_PAUSE_AHEAD)
    });
    pauses.sort_unstable_by_key(|pause| Reverse(pause.ended));
    let mut left = limit;
    // The time from `counted_from` to `at` is already counted: the part outside of pauses was subtracted from `left`.
    let mut counted_from = at;
    for pause in pauses {
        if pause.began >= counted_from {
            continue;
        }
        // The time between this pause and the part that is already counted. It is zero if this pause ends after `at` or
        // overlaps a later one.
        let after_pause = counted_from.saturating_sub(pause.ended);
        if after_pause >= left {
            break;
        }
        left -= after_pause;
        counted_from = pause.began;
    }
    let first = counted_from.saturating_add(1).saturating_sub(left);
    first..at.saturating_add(limit)
}

#[cfg(test)]
mod tests {
    use super::{MAX_PAUSE_AHEAD, UsagePause, active_last_use_range};

    const AT: u64 = 10_000;
    const LIMIT: u64 = 300;

    fn first_use(pauses: &[(u64, u64)]) -> u64 {
        let pauses = pauses
            .iter()
            .map(|&(began, ended)| UsagePause { began, ended });
        active_last_use_range(AT, LIMIT, pauses.collect()).start
    }

    #[test]
    fn without_a_pause_the_limit_counts_to_the_second() {
        assert_eq!(active_last_use_range(AT, LIMIT, Vec::new()), 9701..10_300);
        assert_eq!(active_last_use_range(5, LIMIT, Vec::new()), 0..305);
    }

    #[test]
    fn a_pause_does_not_count_as_time_without_use() {
        assert_eq!(first_use(&[(9800, 9900)]), 9601);
        assert_eq!(first_use(&[(9000, AT)]), 8701, "it goes on");
        assert_eq!(first_use(&[(9700, 9800)]), 9601, "it began at the limit");
    }

    #[test]
    fn a_pause_before_the_last_use_in_time_changes_nothing() {
        assert_eq!(first_use(&[(9000, 9700)]), 9701);
        assert_eq!(first_use(&[(0, 100)]), 9701);
    }

    #[test]
    fn pauses_add_up_and_count_once_where_they_overlap() {
        assert_eq!(first_use(&[(9900, 9950), (9800, 9850)]), 9601);
        assert_eq!(first_use(&[(9800, 9900), (9850, 9950)]), 9551);
        assert_eq!(first_use(&[(9850, 9900), (9800, 9950)]), 9551);
        assert_eq!(first_use(&[(9800, 9900), (9800, 9900)]), 9601);
    }

    #[test]
    fn a_pause_that_ends_up_to_a_minute_ahead_counts_until_now() {
        assert_eq!(first_use(&[(9000, AT + 1)]), 8701);
        assert_eq!(first_use(&[(9900, AT + MAX_PAUSE_AHEAD)]), 9601);
        assert_eq!(first_use(&[(9900, AT + 9), (9800, 9850)]), 9551);
        assert_eq!(first_use(&[(AT, AT + 9)]), 9701, "it has not begun");
        assert_eq!(first_use(&[(AT + 1, AT + 9)]), 9701);
    }

    #[test]
    fn a_pause_of_a_clock_that_was_ahead_keeps_no_session() {
        assert_eq!(first_use(&[(9000, AT + MAX_PAUSE_AHEAD + 1)]), 9701);
        assert_eq!(first_use(&[(9000, u64::MAX)]), 9701);
        assert_eq!(first_use(&[(9900, 9800)]), 9701, "it ended before it began");
    }
}
