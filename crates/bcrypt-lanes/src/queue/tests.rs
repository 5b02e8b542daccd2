use std::time::Instant;

use futures_channel::oneshot::Receiver;

use super::{Admitted, Queue};
use crate::Share;
use crate::job::{Job, Reply, tests::job};

/// Lets a job wait at its fair place: everybody has all the time there is.
fn push(queue: &mut Queue, job: Job) -> Admitted {
    let place = queue.place(job.share, job.work(), |_, _| true);
    queue.push(job, place)
}

/// A queue with jobs of these (share, work), and their callers, who all wait.
fn queue(limit: usize, jobs: &[(u128, u64)]) -> (Queue, Vec<Receiver<Reply>>) {
    let mut queue = Queue::new(limit);
    let callers = jobs.iter().map(|&(share, work)| {
        let (job, caller) = job(share, work);
        assert!(matches!(push(&mut queue, job), Admitted::Waits));
        caller
    });
    let callers = callers.collect();
    (queue, callers)
}

fn shares_in_order(queue: &mut Queue) -> Vec<u128> {
    std::iter::from_fn(|| queue.pop().map(|job| job.share.0)).collect()
}

#[test]
fn a_late_share_is_served_in_turn_with_one_that_floods() {
    let flood = [(1, 16); 6];
    let (mut queue, _callers) = queue(100, &[&flood[..], &[(2, 16), (2, 16), (3, 16)]].concat());
    assert_eq!(shares_in_order(&mut queue), [1, 2, 3, 1, 2, 1, 1, 1, 1]);
}

#[test]
fn a_share_with_dear_hashes_gets_fewer_of_them() {
    let (mut queue, _callers) = queue(100, &[(1, 64), (1, 64), (2, 16), (2, 16), (2, 16), (2, 16)]);
    assert_eq!(shares_in_order(&mut queue), [2, 2, 2, 1, 2, 1]);
}

#[test]
fn a_share_that_always_has_just_one_waiting_does_not_starve_the_others() {
    let (mut queue, _callers) = queue(100, &[(1, 16), (2, 16), (2, 16), (2, 16)]);
    let mut order = Vec::new();
    for _ in 0..6 {
        let share = queue.pop().map(|job| job.share.0);
        if share == Some(1) {
            assert!(matches!(push(&mut queue, job(1, 16).0), Admitted::Waits));
        }
        order.extend(share);
    }
    assert_eq!(order, [1, 2, 2, 1, 2, 1]);
}

#[test]
fn a_full_queue_makes_room_at_the_cost_of_the_newest_of_the_longest_line() {
    let (mut queue, _callers) = queue(4, &[(1, 16), (1, 16), (1, 32), (2, 16)]);
    let Admitted::InsteadOf(displaced) = push(&mut queue, job(3, 16).0) else {
        panic!("nothing was displaced");
    };
    assert_eq!((displaced.share, displaced.work()), (Share(1), 32));
    assert_eq!(queue.len(), 4);
    assert_eq!(shares_in_order(&mut queue), [1, 2, 3, 1]);
}

#[test]
fn a_share_that_fills_the_queue_displaces_nobody() {
    let (mut queue, _callers) = queue(3, &[(1, 16), (1, 16), (2, 16)]);
    assert_eq!([1, 2, 3].map(|share| queue.has_room_for(Share(share))), [false, false, true]);
    assert!(matches!(push(&mut queue, job(1, 16).0), Admitted::No(_)));
    assert!(
        matches!(push(&mut queue, job(2, 16).0), Admitted::No(_)),
        "2 and 1 would only change places"
    );
}

#[test]
fn a_new_share_has_only_one_turn_of_a_flood_ahead_of_it() {
    let (queue, _callers) = queue(100, &[(1, 16); 50]);
    let place = queue.place(Share(2), 16, |_, _| true);
    assert_eq!((place.ahead, place.own), (16, 0));
    let place = queue.place(Share(1), 16, |_, _| true);
    assert_eq!((place.ahead, place.own), (50 * 16, 50 * 16));
}

#[test]
fn a_new_share_waits_behind_those_who_would_be_late_for_it_and_before_the_others() {
    let (mut queue, _callers) = queue(100, &[(1, 16); 6]);
    // The fourth has no more than 60 iterations to wait for; it waits for 48 now.
    let fourth = queue.place(Share(2), 16, |ahead, _| ahead != 48 + 16);
    assert_eq!(fourth.ahead, 4 * 16);
    let (late, _caller) = job(2, 16);
    assert!(matches!(queue.push(late, fourth), Admitted::Waits));
    assert_eq!(shares_in_order(&mut queue), [1, 1, 1, 1, 2, 1, 1]);
}

#[test]
fn what_nobody_waits_for_leaves_without_a_trace() {
    let (mut queue, mut callers) = queue(100, &[(1, 16), (1, 16), (2, 16), (3, 16)]);
    drop(callers.remove(3));
    drop(callers.remove(0));
    assert_eq!(queue.remove_dead(Instant::now()).len(), 2);
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.place(Share(9), 1 << 20, |_, _| true).ahead, 32);
    assert_eq!(shares_in_order(&mut queue), [2, 1]);
    assert_eq!(queue.len(), 0);
}
