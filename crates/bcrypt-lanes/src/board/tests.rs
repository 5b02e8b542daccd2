use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;

use super::{Board, Counted, Load};
use crate::job::{Claim, Reply, tests::job};
use crate::{EngineError, Settings, Share};

mod floods;

const SECOND: Duration = Duration::from_secs(1);

/// Two workers of two lanes that do 1,000 iterations a second in each.
fn board(queue: usize) -> Board {
    let mut board = Board::new(Settings { threads: 2, lanes: 2, queue, low_priority: false });
    board.pace.calibrate(1000, &[SECOND]);
    board
}

/// Submits a job that has `deadline` from `now`.
fn submit(
    board: &mut Board,
    share: u128,
    work: u64,
    now: Instant,
    deadline: Duration,
) -> Receiver<Reply> {
    let (mut job, caller) = job(share, work);
    (job.submitted, job.deadline) = (now, now + deadline);
    board.submit(job, now);
    caller
}

/// Fills all four lanes with a second of work each.
fn busy_board(queue: usize) -> (Board, Instant, Vec<Receiver<Reply>>) {
    let (mut board, now) = (board(queue), Instant::now());
    let callers = [0, 1, 0, 1].map(|worker| {
        let caller = submit(&mut board, 1, 1000, now, 60 * SECOND);
        assert!(board.take(worker, now).is_some());
        caller
    });
    (board, now, callers.into())
}

fn answer(caller: &mut Receiver<Reply>) -> Option<EngineError> {
    caller.try_recv().ok().flatten().and_then(Result::err)
}

#[track_caller]
fn retry_after(caller: &mut Receiver<Reply>) -> Duration {
    match answer(caller) {
        Some(EngineError::Refused { retry_after }) => retry_after,
        other => panic!("not refused but {other:?}"),
    }
}

#[test]
fn two_lone_jobs_go_to_two_workers() {
    let (mut board, now) = (board(10), Instant::now());
    let _callers = [1, 2, 3].map(|share| submit(&mut board, share, 16, now, SECOND));
    assert!(board.take(0, now).is_some());
    assert!(board.take(0, now).is_none(), "the second is for the idle worker");
    assert!(board.take(1, now).is_some());
    assert!(board.take(0, now).is_some());
}

#[test]
fn a_worker_takes_no_more_than_it_has_lanes_for() {
    let (mut board, now, _callers) = busy_board(10);
    let _caller = submit(&mut board, 5, 16, now, 60 * SECOND);
    assert!(board.take(0, now).is_none());
    assert!(board.take(1, now).is_none());
}

#[test]
fn what_cannot_be_done_in_time_is_refused_at_once_with_the_time_it_lacked() {
    let (mut board, now, _callers) = busy_board(1000);
    // One second for what is in the lanes, one for itself; a fifth of the time is kept.
    let mut in_time = submit(&mut board, 8, 1000, now, SECOND * 26 / 10);
    assert_eq!(answer(&mut in_time), None);
    // As before, and a quarter of a second for the one that waits already.
    let mut late = submit(&mut board, 9, 1000, now, SECOND * 26 / 10);
    let lacked = retry_after(&mut late).as_secs_f64();
    assert!((lacked - (2.25 - 2.08)).abs() < 0.01, "{lacked}");
    assert_eq!(board.stats().refused, 1);
    assert_eq!(board.stats().queued, 1);
}

#[test]
fn retry_after_is_honest() {
    let (mut board, now, _callers) = busy_board(1000);
    let _first = submit(&mut board, 9, 1000, now, 60 * SECOND);
    let mut late = submit(&mut board, 9, 1000, now, 2 * SECOND);
    let later = now + retry_after(&mut late) + Duration::from_millis(5);
    let spent = u64::try_from((later - now).as_millis()).unwrap_or(u64::MAX);
    for worker in [0, 1] {
        let work = 2 * (1000 - spent);
        board.report(worker, Load { jobs: 2, work }, Counted::default());
    }
    let mut again = submit(&mut board, 9, 1000, later, 2 * SECOND);
    assert_eq!(answer(&mut again), None);
}

#[test]
fn a_flood_of_one_share_refuses_itself_and_nobody_else() {
    let (mut board, now, _callers) = busy_board(1000);
    let mut flood: Vec<_> =
        (0..100).map(|_| submit(&mut board, 1, 1000, now, 4 * SECOND)).collect();
    assert!(board.stats().refused > 80);
    assert!(answer(&mut flood[0]).is_none());
    let mut other = submit(&mut board, 2, 1000, now, 4 * SECOND);
    assert_eq!(answer(&mut other), None);
}

#[test]
fn whoever_asks_for_room_is_told_what_a_job_would_be_told() {
    let (mut board, now, _callers) = busy_board(3);
    let claim = |share, deadline| Claim::new(Share(share), 1000, now, now + deadline);
    assert_eq!(board.room(claim(9, 3 * SECOND), now), Ok(()));
    let lacked = board.room(claim(9, 2 * SECOND), now).expect_err("late");
    assert_eq!(lacked, retry_after(&mut submit(&mut board, 9, 1000, now, 2 * SECOND)));
    assert_eq!(board.stats().refused, 2);
    let _callers = [(); 3].map(|()| submit(&mut board, 1, 16, now, 60 * SECOND));
    assert!(board.room(claim(1, 60 * SECOND), now).is_err(), "the queue is full of its own");
    assert_eq!(board.room(claim(2, 60 * SECOND), now), Ok(()), "one of these would yield");
}

#[test]
fn a_job_displaced_by_another_share_is_refused() {
    let (mut board, now, _callers) = busy_board(3);
    let mut flood = [(); 3].map(|()| submit(&mut board, 1, 16, now, 60 * SECOND));
    let mut other = submit(&mut board, 2, 16, now, 60 * SECOND);
    assert_eq!(answer(&mut other), None);
    assert!(retry_after(&mut flood[2]) > Duration::ZERO);
    assert_eq!((answer(&mut flood[0]), answer(&mut flood[1])), (None, None));
}

#[test]
fn jobs_nobody_waits_for_make_room_for_others() {
    let (mut board, now, _callers) = busy_board(2);
    drop([(); 2].map(|()| submit(&mut board, 1, 16, now, 60 * SECOND)));
    let mut other = submit(&mut board, 1, 16, now, 60 * SECOND);
    assert_eq!(answer(&mut other), None);
    assert_eq!((board.stats().queued, board.stats().dropped), (1, 2));
}

#[test]
fn a_job_whose_deadline_passed_in_the_queue_never_gets_a_lane() {
    let (mut board, now) = (board(10), Instant::now());
    let mut late = submit(&mut board, 1, 16, now, SECOND);
    let mut dropped = submit(&mut board, 2, 16, now, 9 * SECOND);
    dropped.close();
    let _waiting = submit(&mut board, 3, 16, now, 9 * SECOND);
    let taken = board.take(0, now + 2 * SECOND).map(|job| job.share.0);
    assert_eq!(taken, Some(3));
    assert_eq!(answer(&mut late), Some(EngineError::DeadlinePassed));
    assert_eq!((board.stats().expired, board.stats().dropped), (1, 1));
}

#[test]
fn who_waits_beyond_the_deadline_is_told_though_no_lane_is_free() {
    let (mut board, now, _callers) = busy_board(10);
    let mut in_time = submit(&mut board, 2, 16, now, 9 * SECOND);
    let mut late = submit(&mut board, 1, 16, now, 3 * SECOND);
    board.expire(now + 2 * SECOND);
    assert_eq!(answer(&mut late), None);
    board.expire(now + 3 * SECOND);
    assert_eq!(answer(&mut late), Some(EngineError::DeadlinePassed));
    board.expire(now + 8 * SECOND);
    assert_eq!(answer(&mut in_time), None);
    board.expire(now + 9 * SECOND);
    assert_eq!(answer(&mut in_time), Some(EngineError::DeadlinePassed));
}

#[test]
fn an_idle_engine_takes_a_job_however_wrong_its_estimate_is() {
    let (mut board, now) = (board(10), Instant::now());
    board.pace.calibrate(1, &[1000 * SECOND]);
    let mut first = submit(&mut board, 1, 1000, now, SECOND);
    assert!(board.take(0, now).is_some());
    assert_eq!(answer(&mut first), None);
    // What that one proves about the machine lets others in.
    board.pace.learn(1, 10, SECOND / 100);
    board.report(0, Load { jobs: 1, work: 900 }, Counted::default());
    let mut others =
        [2, 3, 4, 5, 6, 7].map(|share| submit(&mut board, share, 100, now, SECOND * 12 / 10));
    assert_eq!(others.each_mut().map(answer), [None; 6]);
}
