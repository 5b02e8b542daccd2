use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;

use super::{Load, Scheduler};
use crate::job::{AdmissionRequest, Reply, tests::job};
use crate::{ClientKey, EngineError, Settings, Stats};

mod floods;
mod newcomers;

const SECOND: Duration = Duration::from_secs(1);

/// Returns a scheduler of two workers with two lanes each. A lane does 1,000 iterations per second.
fn scheduler(queue: usize) -> Scheduler {
    let mut scheduler = Scheduler::new(Settings {
        threads: 2,
        lanes: 2,
        queue,
    });
    scheduler.throughput.calibrate(1000, &[SECOND]);
    scheduler
}

/// Submits a job with a deadline of `now + deadline`.
fn submit(
    scheduler: &mut Scheduler,
    client: u128,
    work: u64,
    now: Instant,
    deadline: Duration,
) -> Receiver<Reply> {
    let (mut job, caller) = job(client, work);
    (job.submitted, job.deadline) = (now, now + deadline);
    scheduler.submit(job, now);
    caller
}

/// Fills all four lanes with a second of work each.
fn busy_board(queue: usize) -> (Scheduler, Instant, Vec<Receiver<Reply>>) {
    let (mut scheduler, now) = (scheduler(queue), Instant::now());
    let callers = [0, 1, 0, 1].map(|worker| {
        let caller = submit(&mut scheduler, 1, 1000, now, 60 * SECOND);
        assert!(scheduler.take(worker, now).is_some());
        caller
    });
    (scheduler, now, callers.into())
}

/// Reports that `jobs` lanes of a worker are busy with jobs of client 1.
fn report(scheduler: &mut Scheduler, worker: usize, jobs: usize, work: u64) {
    let load = Load {
        clients: vec![ClientKey(1); jobs],
        work,
    };
    scheduler.report(worker, load, Stats::default());
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
fn two_jobs_go_to_two_workers() {
    let (mut scheduler, now) = (scheduler(10), Instant::now());
    let _callers = [1, 2, 3].map(|client| submit(&mut scheduler, client, 16, now, SECOND));
    assert!(scheduler.take(0, now).is_some());
    assert!(
        scheduler.take(0, now).is_none(),
        "the second job is for the idle worker"
    );
    assert!(scheduler.take(1, now).is_some());
    assert!(scheduler.take(0, now).is_some());
}

#[test]
fn a_worker_takes_no_more_jobs_than_it_has_lanes() {
    let (mut scheduler, now, _callers) = busy_board(10);
    let _caller = submit(&mut scheduler, 1, 16, now, 60 * SECOND);
    assert!(scheduler.take(0, now).is_none());
    assert!(scheduler.take(1, now).is_none());
}

#[test]
fn a_job_that_would_miss_its_deadline_is_refused_with_the_overrun() {
    let (mut scheduler, now, _callers) = busy_board(1000);
    // The running jobs take one second, and this job takes another second. A fifth of the time is reserved.
    let mut in_time = submit(&mut scheduler, 8, 1000, now, SECOND * 26 / 10);
    assert_eq!(answer(&mut in_time), None);
    // This job also waits a quarter of a second for the queued one.
    let mut late = submit(&mut scheduler, 9, 1000, now, SECOND * 26 / 10);
    let lacked = retry_after(&mut late).as_secs_f64();
    assert!((lacked - (2.25 - 2.08)).abs() < 0.01, "{lacked}");
    assert_eq!(scheduler.stats().refused, 1);
    assert_eq!(scheduler.stats().queued, 1);
}

#[test]
fn a_retry_after_the_given_time_is_admitted() {
    let (mut scheduler, now, _callers) = busy_board(1000);
    let _first = submit(&mut scheduler, 9, 1000, now, 60 * SECOND);
    let mut late = submit(&mut scheduler, 9, 1000, now, 2 * SECOND);
    let later = now + retry_after(&mut late) + Duration::from_millis(5);
    let spent = u64::try_from((later - now).as_millis()).unwrap_or(u64::MAX);
    for worker in [0, 1] {
        let work = 2 * (1000 - spent);
        report(&mut scheduler, worker, 2, work);
    }
    let mut again = submit(&mut scheduler, 9, 1000, later, 2 * SECOND);
    assert_eq!(answer(&mut again), None);
}

#[test]
fn a_flood_of_one_client_does_not_refuse_another_client() {
    let (mut scheduler, now, _callers) = busy_board(1000);
    let mut flood: Vec<_> = (0..100)
        .map(|_| submit(&mut scheduler, 1, 1000, now, 4 * SECOND))
        .collect();
    assert!(scheduler.stats().refused > 80);
    assert!(answer(&mut flood[0]).is_none());
    retry_after(&mut flood[99]);
    let mut other = submit(&mut scheduler, 2, 1000, now, 4 * SECOND);
    assert_eq!(answer(&mut other), None);
    let mut impatient = submit(&mut scheduler, 3, 1000, now, SECOND);
    retry_after(&mut impatient);
}

#[test]
fn a_new_client_goes_before_the_jobs_of_a_flood_that_a_slower_machine_cannot_save() {
    let (mut scheduler, now, _callers) = busy_board(1000);
    let _flood: Vec<_> = (0..10)
        .map(|_| submit(&mut scheduler, 1, 1000, now, 8 * SECOND))
        .collect();
    scheduler.throughput.calibrate(1000, &[4 * SECOND]);
    let mut other = submit(&mut scheduler, 2, 1000, now, 20 * SECOND);
    assert_eq!(answer(&mut other), None);
    report(&mut scheduler, 0, 1, 1000);
    let next = [(); 2].map(|()| {
        report(&mut scheduler, 0, 1, 1000);
        report(&mut scheduler, 1, 2, 2000);
        scheduler.take(0, now).map(|job| job.client.0)
    });
    assert!(next.contains(&Some(2)), "{next:?}");
}

#[test]
fn check_admission_agrees_with_submit() {
    let (mut scheduler, now, _callers) = busy_board(3);
    let admission_request =
        |client, deadline| AdmissionRequest::new(ClientKey(client), 1000, now, now + deadline);
    assert_eq!(
        scheduler.check_admission(admission_request(9, 3 * SECOND), now),
        Ok(())
    );
    let late = scheduler
        .check_admission(admission_request(9, 2 * SECOND), now)
        .err();
    assert!(late.is_some());
    assert_eq!(
        late,
        answer(&mut submit(&mut scheduler, 9, 1000, now, 2 * SECOND))
    );
    assert_eq!(scheduler.stats().refused, 2);
    let _callers = [(); 3].map(|()| submit(&mut scheduler, 1, 16, now, 60 * SECOND));
    assert!(
        scheduler
            .check_admission(admission_request(1, 60 * SECOND), now)
            .is_err(),
        "the queue is full of its own jobs"
    );
    assert_eq!(
        scheduler.check_admission(admission_request(2, 60 * SECOND), now),
        Ok(()),
        "a job would be displaced"
    );
}

#[test]
fn a_displaced_job_is_refused() {
    let (mut scheduler, now, _callers) = busy_board(3);
    let mut flood = [(); 3].map(|()| submit(&mut scheduler, 1, 16, now, 60 * SECOND));
    let mut other = submit(&mut scheduler, 2, 16, now, 60 * SECOND);
    assert_eq!(answer(&mut other), None);
    assert!(retry_after(&mut flood[2]) > Duration::ZERO);
    assert_eq!((answer(&mut flood[0]), answer(&mut flood[1])), (None, None));
}

#[test]
fn cancelled_jobs_make_room_for_others() {
    let (mut scheduler, now, _callers) = busy_board(2);
    drop([(); 2].map(|()| submit(&mut scheduler, 1, 16, now, 60 * SECOND)));
    let mut other = submit(&mut scheduler, 1, 16, now, 60 * SECOND);
    assert_eq!(answer(&mut other), None);
    assert_eq!(
        (scheduler.stats().queued, scheduler.stats().dropped),
        (1, 2)
    );
}

#[test]
fn an_expired_job_in_the_queue_never_gets_a_lane() {
    let (mut scheduler, now) = (scheduler(10), Instant::now());
    let mut late = submit(&mut scheduler, 1, 16, now, SECOND);
    let mut dropped = submit(&mut scheduler, 2, 16, now, 9 * SECOND);
    dropped.close();
    let _waiting = submit(&mut scheduler, 3, 16, now, 9 * SECOND);
    let taken = scheduler.take(0, now + 2 * SECOND).map(|job| job.client.0);
    assert_eq!(taken, Some(3));
    assert_eq!(answer(&mut late), Some(EngineError::DeadlinePassed));
    assert_eq!(
        (scheduler.stats().expired, scheduler.stats().dropped),
        (1, 1)
    );
}

#[test]
fn queued_jobs_expire_while_all_lanes_are_busy() {
    let (mut scheduler, now, _callers) = busy_board(10);
    let mut in_time = submit(&mut scheduler, 2, 16, now, 9 * SECOND);
    let mut late = submit(&mut scheduler, 1, 16, now, 3 * SECOND);
    scheduler.expire(now + 2 * SECOND);
    assert_eq!(answer(&mut late), None);
    scheduler.expire(now + 3 * SECOND);
    assert_eq!(answer(&mut late), Some(EngineError::DeadlinePassed));
    scheduler.expire(now + 8 * SECOND);
    assert_eq!(answer(&mut in_time), None);
    scheduler.expire(now + 9 * SECOND);
    assert_eq!(answer(&mut in_time), Some(EngineError::DeadlinePassed));
}

#[test]
fn an_idle_engine_admits_a_job_whatever_the_estimate() {
    let (mut scheduler, now) = (scheduler(10), Instant::now());
    scheduler.throughput.calibrate(1, &[1000 * SECOND]);
    let mut first = submit(&mut scheduler, 1, 1000, now, SECOND);
    assert!(scheduler.take(0, now).is_some());
    assert_eq!(answer(&mut first), None);
    // The running job proves a higher throughput, so others are admitted.
    scheduler.throughput.record(1, 10, SECOND / 100);
    report(&mut scheduler, 0, 1, 900);
    let mut others =
        [2, 3, 4, 5, 6, 7].map(|client| submit(&mut scheduler, client, 100, now, SECOND * 12 / 10));
    assert_eq!(others.each_mut().map(answer), [None; 6]);
}
