use super::{
    AgedRow, DAY_SECONDS, HOUR_SECONDS, MAX_MOVE, Progress, YEAR_2020, last_removable, oldest_at,
    removable,
};
use crate::store::Seal;

const NOW: i64 = YEAR_2020 + 1000 * DAY_SECONDS;
const LIMIT: i64 = NOW - 90 * DAY_SECONDS;
const NEVER: Progress = Progress {
    base_revision: 0,
    removed_before: 0,
    moved_at: 0,
};

/// Rows that were written so many days ago, with the revisions 1, 2, and so on.
fn rows(days_ago: &[i64]) -> Vec<AgedRow> {
    days_ago
        .iter()
        .zip(1..)
        .map(|(days, revision)| AgedRow {
            revision,
            at: NOW - days * DAY_SECONDS,
            event: "role_changed".to_owned(),
        })
        .collect()
}

#[test]
fn the_time_moves_two_days_behind_the_oldest_row_once_an_hour() {
    let oldest = NOW - 200 * DAY_SECONDS;
    let moved = NEVER.next(0, oldest, LIMIT, NOW).expect("something is old");
    assert_eq!(moved.removed_before, oldest + MAX_MOVE);
    for seconds in [0, 46, HOUR_SECONDS - 1] {
        assert_eq!(moved.next(5, oldest, LIMIT, NOW + seconds), None);
    }
    let later = moved.next(5, oldest + MAX_MOVE, LIMIT, NOW + HOUR_SECONDS);
    let later = later.expect("an hour later");
    assert_eq!(later.removed_before, oldest + 2 * MAX_MOVE);
}

#[test]
fn the_time_passes_a_batch_that_spans_more_than_two_days() {
    let oldest = NOW - 200 * DAY_SECONDS;
    let mut progress = NEVER.next(7, oldest, LIMIT, NOW).expect("old");
    for hours in 1..3 {
        let now = NOW + hours * HOUR_SECONDS;
        progress = progress.next(7, oldest, LIMIT, now).expect("an hour later");
    }
    assert_eq!(progress.removed_before, oldest + 3 * MAX_MOVE);
}

#[test]
fn a_clock_that_comes_back_moves_nothing_for_an_hour() {
    let ahead = NOW + 60 * DAY_SECONDS;
    let oldest = NOW - 60 * DAY_SECONDS;
    let moved = NEVER.next(0, oldest, ahead - 90 * DAY_SECONDS, ahead);
    let moved = moved.expect("old by that clock");
    let back = moved.next(0, oldest, LIMIT, NOW).expect("it is noted");
    assert_eq!((back.removed_before, back.moved_at), (LIMIT, NOW));
    assert_eq!(
        back.next(0, oldest, ahead - 90 * DAY_SECONDS, NOW + 46),
        None
    );
}

#[test]
fn a_row_from_the_future_holds_nothing_back() {
    let rows = rows(&[99, 98, -365, 97, 96, 20, 10]);
    assert_eq!(removable(&rows, LIMIT, NOW), 5);
    assert_eq!(oldest_at(&rows[2..], NOW), Some(rows[3].at));
}

#[test]
fn a_clock_that_was_ahead_for_a_moment_is_outvoted_later() {
    assert_eq!(removable(&rows(&[99, 60, 98, 97, 10]), LIMIT, NOW), 4);
    assert_eq!(removable(&rows(&[99, 60, 10]), LIMIT, NOW), 1);
}

#[test]
fn a_clock_that_was_behind_removes_nothing_young() {
    let unset = NOW / DAY_SECONDS;
    assert_eq!(removable(&rows(&[20, 19, unset, 18]), LIMIT, NOW), 0);
    assert_eq!(removable(&rows(&[20, 19, 95, 18]), LIMIT, NOW), 0);
    assert_eq!(oldest_at(&rows(&[unset, 20]), NOW), Some(rows(&[20])[0].at));
}

#[test]
fn the_last_removed_seal_shows_its_age() {
    let rows = rows(&[99, 60, 98, 20, 10]);
    let seal = |index: usize, at: i64| Seal {
        revision: rows[index].revision,
        at,
        digest: String::new(),
    };
    // Seals never go back in time.
    let seals = [
        seal(0, rows[0].at),
        seal(1, rows[1].at),
        seal(2, rows[1].at),
    ];
    let last = last_removable(&seals, &rows, LIMIT).expect("one");
    assert_eq!(last.revision, 2, "a later row is older than the seal");
    let last = last_removable(&seals[2..], &rows, LIMIT);
    assert_eq!(last, None, "no row shows that the clock was ahead");
}
