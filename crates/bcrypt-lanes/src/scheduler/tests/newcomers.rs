//! Tests of the extra lane for clients that have no job in a lane.

use std::time::{Duration, Instant};

use super::{SECOND, busy_board, report, scheduler, submit};

#[test]
fn a_client_without_a_job_in_a_lane_gets_one_more_while_another_has_many() {
    let (mut scheduler, now, _callers) = busy_board(10);
    let _callers =
        [1, 1, 5, 5, 6].map(|client| submit(&mut scheduler, client, 16, now, 60 * SECOND));
    let mut take = |worker| scheduler.take(worker, now).map(|job| job.client.0);
    assert_eq!(
        [take(0), take(0)],
        [Some(5), None],
        "one more lane, and the other worker is next"
    );
    assert_eq!([take(1), take(1)], [Some(6), None], "5 has a lane already");
    report(&mut scheduler, 0, 2, 2000);
    assert_eq!(scheduler.take(0, now).map(|job| job.client.0), Some(5));
}

#[test]
fn clients_with_few_jobs_wait_for_each_other() {
    let (mut scheduler, now) = (scheduler(10), Instant::now());
    let _callers = [1, 2, 3, 4, 5].map(|client| submit(&mut scheduler, client, 16, now, SECOND));
    let taken = [0, 1, 0, 1, 0, 1].map(|worker| scheduler.take(worker, now).is_some());
    assert_eq!(taken, [true, true, true, true, false, false]);
}

#[test]
fn no_newcomer_passes_jobs_that_need_their_time() {
    let (mut scheduler, now, _callers) = busy_board(10);
    // The running jobs take a second, and this job takes a quarter of a second.
    let _caller = submit(&mut scheduler, 1, 1000, now, 3 * SECOND);
    let _newcomer = submit(&mut scheduler, 5, 16, now, 60 * SECOND);
    assert!(
        scheduler
            .take(0, now + Duration::from_millis(600))
            .is_none()
    );
    assert!(scheduler.take(0, now).is_some());
}
