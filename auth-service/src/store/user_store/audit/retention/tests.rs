use super::{
    DAY_SECONDS, YEAR_2020,
    progress::{AgedRow, HOUR_SECONDS, MAX_MOVE, Progress, count_removable},
};

const NOW: i64 = YEAR_2020 + 1000 * DAY_SECONDS;
const LIMIT: i64 = NOW - 90 * DAY_SECONDS;
const NEVER: Progress = Progress {
    removed_before: 0,
    moved_at: 0,
};

/// Returns rows that were written this many days ago, with the revisions 1, 2, and so on.
fn rows(days_ago: &[i64]) -> Vec<AgedRow> {
    days_ago
        .iter()
        .zip(1..)
        .map(|(days, revision)| AgedRow {
            revision,
            at: NOW - days * DAY_SECONDS,
        })
        .collect()
}

#[test]
fn the_time_moves_two_days_behind_the_oldest_row_once_an_hour() {
    let oldest = NOW - 200 * DAY_SECONDS;
    let moved = NEVER.next(oldest, LIMIT, NOW).expect("something is old");
    assert_eq!(moved.removed_before, oldest + MAX_MOVE);
    for seconds in [0, 46, HOUR_SECONDS - 1] {
        assert!(moved.has_moved_lately(NOW + seconds), "{seconds}");
    }
    assert!(!moved.has_moved_lately(NOW + HOUR_SECONDS));
    let later = moved.next(oldest + MAX_MOVE, LIMIT, NOW + HOUR_SECONDS);
    let later = later.expect("an hour later");
    assert_eq!(later.removed_before, oldest + 2 * MAX_MOVE);
}

#[test]
fn the_time_passes_a_batch_that_spans_more_than_two_days() {
    let oldest = NOW - 200 * DAY_SECONDS;
    let mut progress = NEVER.next(oldest, LIMIT, NOW).expect("old");
    for hours in 1..3 {
        let now = NOW + hours * HOUR_SECONDS;
        progress = progress.next(oldest, LIMIT, now).expect("an hour later");
    }
    assert_eq!(progress.removed_before, oldest + 3 * MAX_MOVE);
}

#[test]
fn a_clock_that_comes_back_moves_nothing_for_an_hour() {
    let ahead = NOW + 60 * DAY_SECONDS;
    let oldest = NOW - 60 * DAY_SECONDS;
    let moved = NEVER.next(oldest, ahead - 90 * DAY_SECONDS, ahead);
    let moved = moved.expect("old by that clock");
    let back = moved.restart(LIMIT, NOW);
    assert_eq!((back.removed_before, back.moved_at), (LIMIT, NOW));
    assert!(back.has_moved_lately(NOW + 46));
}

#[test]
fn nothing_moves_while_nothing_is_old() {
    assert_eq!(NEVER.next(LIMIT, LIMIT, NOW), None);
}

#[test]
fn a_clock_that_was_ahead_for_a_moment_is_outvoted_later() {
    assert_eq!(count_removable(&rows(&[99, 60, 98, 97, 10]), LIMIT), 4);
    assert_eq!(count_removable(&rows(&[99, 60, 10]), LIMIT), 1);
    let ahead = rows(&[60, 60, 60, 99, 98, 97, 96, 10]);
    assert_eq!(count_removable(&ahead, LIMIT), 7);
}

#[test]
fn a_clock_that_was_behind_removes_nothing_young() {
    assert_eq!(count_removable(&rows(&[20, 19, 95, 18]), LIMIT), 0);
    assert_eq!(count_removable(&rows(&[20, 19, 999, 18]), LIMIT), 0);
}

#[test]
fn a_row_whose_clock_was_behind_does_not_take_the_time_back() {
    let moved = Progress {
        removed_before: NOW - 150 * DAY_SECONDS,
        moved_at: NOW - HOUR_SECONDS,
    };
    let next = moved.next(YEAR_2020, LIMIT, NOW).expect("something is old");
    assert_eq!(next.removed_before, NOW - 148 * DAY_SECONDS);
}
