use std::time::Instant;

use futures_channel::oneshot::Receiver;

use super::Queue;
use crate::ClientKey;
use crate::job::{Job, Reply, tests::job};

/// Queues a job at its fair position, without deadlines.
fn push(queue: &mut Queue, job: Job) -> Option<Job> {
    let position = queue.position(job.client, job.work(), |_, _| false);
    queue.push(job, position)
}

/// Returns a queue with jobs for these pairs of client and work, and the receivers of the jobs.
fn queue(limit: usize, jobs: &[(u128, u64)]) -> (Queue, Vec<Receiver<Reply>>) {
    let mut queue = Queue::new(limit);
    let callers = jobs.iter().map(|&(client, work)| {
        let (job, caller) = job(client, work);
        assert!(push(&mut queue, job).is_none());
        caller
    });
    let callers = callers.collect();
    (queue, callers)
}

fn shares_in_order(queue: &mut Queue) -> Vec<u128> {
    std::iter::from_fn(|| queue.pop().map(|job| job.client.0)).collect()
}

#[test]
fn a_new_client_alternates_with_one_that_floods() {
    let flood = [(1, 16); 6];
    let (mut queue, _callers) = queue(100, &[&flood[..], &[(2, 16), (2, 16), (3, 16)]].concat());
    assert_eq!(shares_in_order(&mut queue), [1, 2, 3, 1, 2, 1, 1, 1, 1]);
}

#[test]
fn a_client_with_expensive_hashes_gets_fewer_of_them() {
    let (mut queue, _callers) = queue(100, &[(1, 64), (1, 64), (2, 16), (2, 16), (2, 16), (2, 16)]);
    assert_eq!(shares_in_order(&mut queue), [2, 2, 2, 1, 2, 1]);
}

#[test]
fn a_client_with_one_waiting_job_does_not_starve_others() {
    let (mut queue, _callers) = queue(100, &[(1, 16), (2, 16), (2, 16), (2, 16)]);
    let mut order = Vec::new();
    for _ in 0..6 {
        let client = queue.pop().map(|job| job.client.0);
        if client == Some(1) {
            assert!(push(&mut queue, job(1, 16).0).is_none());
        }
        order.extend(client);
    }
    assert_eq!(order, [1, 2, 2, 1, 2, 1]);
}

#[test]
fn a_full_queue_displaces_the_newest_job_of_the_largest_client() {
    let (mut queue, _callers) = queue(4, &[(1, 16), (1, 16), (1, 32), (2, 16)]);
    let displaced = push(&mut queue, job(3, 16).0).expect("the queue is full");
    assert_eq!((displaced.client, displaced.work()), (ClientKey(1), 32));
    assert_eq!(queue.len(), 4);
    assert_eq!(shares_in_order(&mut queue), [1, 2, 3, 1]);
}

#[test]
fn a_client_that_fills_the_queue_displaces_no_other() {
    let (mut queue, _callers) = queue(3, &[(1, 16), (1, 16), (2, 16)]);
    assert_eq!(
        [1, 2, 3].map(|client| queue.has_capacity_for(ClientKey(client))),
        [false, false, true]
    );
    let rejected = push(&mut queue, job(1, 18).0).map(|job| job.work());
    assert_eq!(rejected, Some(18));
    let rejected = push(&mut queue, job(2, 18).0).map(|job| job.work());
    assert_eq!(rejected, Some(18), "2 and 1 would only change places");
}

#[test]
fn a_new_client_waits_for_at_most_one_job_of_a_flood() {
    let (queue, _callers) = queue(100, &[(1, 16); 50]);
    let position = queue.position(ClientKey(2), 16, |_, _| false);
    assert_eq!(
        (position.iterations_ahead, position.own_iterations),
        (16, 0)
    );
    let position = queue.position(ClientKey(1), 16, |_, _| false);
    assert_eq!(
        (position.iterations_ahead, position.own_iterations),
        (50 * 16, 50 * 16)
    );
}

#[test]
fn a_new_client_goes_behind_jobs_that_it_would_delay_past_their_deadline() {
    let (mut queue, _callers) = queue(100, &[(1, 16); 6]);
    // The fourth job may wait for at most 60 iterations and has 48 before it.
    let fourth = queue.position(ClientKey(2), 16, |ahead, _| ahead == 48);
    assert_eq!(fourth.iterations_ahead, 4 * 16);
    let (late, _caller) = job(2, 16);
    assert!(queue.push(late, fourth).is_none());
    assert_eq!(shares_in_order(&mut queue), [1, 1, 1, 1, 2, 1, 1]);
}

#[test]
fn removed_jobs_leave_no_trace_in_the_queue() {
    let (mut queue, mut callers) = queue(100, &[(1, 16), (1, 16), (2, 16), (3, 16)]);
    drop(callers.remove(3));
    drop(callers.remove(0));
    assert_eq!(queue.remove_dead(Instant::now()).len(), 2);
    assert_eq!(queue.len(), 2);
    assert_eq!(
        queue
            .position(ClientKey(9), 1 << 20, |_, _| false)
            .iterations_ahead,
        32
    );
    assert_eq!(shares_in_order(&mut queue), [2, 1]);
    assert_eq!(queue.len(), 0);
}
