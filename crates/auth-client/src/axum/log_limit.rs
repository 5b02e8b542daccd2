//! Limits how often a problem is logged, because any client could cause it again with each request.

use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// The minimum time between two log lines about the same problem.
const REPEAT_INTERVAL: Duration = Duration::from_mins(1);

/// The time at which each problem was last logged. The keys are texts of the program, such as a list of
/// required roles, so the map stays small.
static LAST_LOGGED: Mutex<BTreeMap<String, Instant>> = Mutex::new(BTreeMap::new());

/// Returns whether to log this problem now. If so, records that it was logged.
pub(super) fn should_log(problem: &str, now: Instant) -> bool {
    let mut last_logged = LAST_LOGGED.lock();
    let is_due = match last_logged.get(problem) {
        Some(at) => now.duration_since(*at) >= REPEAT_INTERVAL,
        None => true,
    };
    if is_due {
        last_logged.insert(problem.to_owned(), now);
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::{REPEAT_INTERVAL, should_log};
    use std::time::Instant;

    #[test]
    fn the_mistake_in_a_requirement_is_due_once_a_minute() {
        let start = Instant::now();
        assert_eq!(
            ["one", "other", "one"].map(|it| should_log(it, start)),
            [true, true, false]
        );
        let later = start + REPEAT_INTERVAL;
        assert!(should_log("one", later) && !should_log("one", later));
    }
}
