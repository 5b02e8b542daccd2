use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;
use proptest::prelude::*;

use super::LaneGroup;
use crate::EngineError;
use crate::job::{Job, Reply, tests::job};
use crate::kernel::MAX_LANES;
use crate::lane::ExpandedPassword;
use crate::stored::{Digest, StoredHash};

/// The input of one hash.
#[derive(Clone, Debug)]
struct Case {
    cost: u32,
    salt: [u8; 16],
    password: Vec<u8>,
}

impl Case {
    fn job(&self) -> (Job, Receiver<Reply>) {
        let (mut job, caller) = job(1, 1 << self.cost);
        job.password = ExpandedPassword::new(&self.password);
        job.salt = self.salt;
        (job, caller)
    }

    /// Returns the digest that the `bcrypt` crate computes.
    fn by_the_crate(&self) -> Digest {
        let hash = bcrypt::hash_with_salt(&self.password, self.cost, self.salt);
        let hash = hash.expect("a valid cost").to_string();
        StoredHash::parse(&hash).expect("a valid hash").digest
    }
}

fn case() -> impl Strategy<Value = Case> {
    let password = prop::collection::vec(any::<u8>(), 0..=72);
    (4u32..=6, any::<[u8; 16]>(), password).prop_map(|(cost, salt, password)| Case {
        cost,
        salt,
        password,
    })
}

fn digest(caller: &mut Receiver<Reply>) -> Option<Digest> {
    caller
        .try_recv()
        .ok()
        .flatten()?
        .ok()
        .map(|answer| answer.value.digest)
}

fn run_dry(lane_group: &mut LaneGroup) {
    while lane_group.width() > 0 {
        lane_group.advance(1000);
        lane_group.collect_finished(Instant::now());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Inserts jobs whenever a lane is free, after slices of any length, so that hashes of different
    /// costs run in kernels of all widths and move between lanes.
    #[test]
    fn every_hash_is_the_crate_s_whatever_runs_beside_it(
        lanes in 1..=MAX_LANES,
        cases in prop::collection::vec(case(), 1..20),
        slices in prop::collection::vec(1u32..9, 1..50),
    ) {
        let mut lane_group = LaneGroup::new(lanes);
        let mut waiting = cases.iter();
        let mut callers = Vec::new();
        let mut slices = slices.iter().cycle();
        while callers.len() < cases.len() || lane_group.width() > 0 {
            if lane_group.width() < lanes && let Some(case) = waiting.next() {
                let (job, caller) = case.job();
                lane_group.insert(job, Instant::now());
                callers.push(caller);
            }
            lane_group.advance(*slices.next().unwrap_or(&1));
            lane_group.collect_finished(Instant::now());
        }
        for (case, caller) in cases.iter().zip(&mut callers) {
            prop_assert_eq!(digest(caller), Some(case.by_the_crate()), "{:?}", case);
        }
    }
}

#[test]
fn passwords_of_every_length_expand_as_in_the_bcrypt_crate() {
    for length in 0..=80_u8 {
        let case = Case {
            cost: 4,
            salt: [length; 16],
            password: (1..=length).collect(),
        };
        let (mut lane_group, (job, mut caller)) = (LaneGroup::new(1), case.job());
        lane_group.insert(job, Instant::now());
        run_dry(&mut lane_group);
        assert_eq!(
            digest(&mut caller),
            Some(case.by_the_crate()),
            "{length} bytes"
        );
    }
}

#[test]
fn cancelled_and_expired_jobs_free_their_lanes() {
    let mut lane_group = LaneGroup::new(3);
    let now = Instant::now();
    let (abandoned, caller) = job(1, 1 << 20);
    drop(caller);
    let (mut late, mut late_caller) = job(1, 1 << 20);
    late.deadline = now + Duration::from_secs(1);
    let (awaited, mut caller) = job(1, 16);
    for job in [abandoned, late, awaited] {
        lane_group.insert(job, now);
    }
    lane_group.advance(1);
    let ended = lane_group.collect_finished(now + Duration::from_secs(2));
    assert_eq!(
        (ended.dropped, ended.expired, lane_group.width()),
        (1, 1, 1)
    );
    let late = late_caller.try_recv().ok().flatten();
    assert!(matches!(late, Some(Err(EngineError::DeadlinePassed))));
    run_dry(&mut lane_group);
    assert!(digest(&mut caller).is_some(), "the moved job is intact");
}

#[test]
fn only_a_failed_verification_of_an_old_hash_does_the_work_of_the_current_cost() {
    let case = Case {
        cost: 4,
        salt: [1; 16],
        password: b"old".to_vec(),
    };
    for (expected, iterations, matches) in [(case.by_the_crate(), 16, true), ([0; 23], 64, false)] {
        let (mut job, mut caller) = case.job();
        job.expected = Some(expected);
        job.iterations_if_wrong = 64;
        let mut lane_group = LaneGroup::new(1);
        lane_group.insert(job, Instant::now());
        let mut done = 0;
        while lane_group.width() > 0 {
            assert_eq!(lane_group.load().work, 64 - u64::from(done));
            done += lane_group.advance(5);
            lane_group.collect_finished(Instant::now());
        }
        let answer = caller.try_recv().ok().flatten().and_then(Result::ok);
        assert_eq!(answer.map(|a| a.value.matches), Some(matches));
        assert_eq!(done, iterations);
    }
}

#[test]
fn a_removed_lane_is_zeroized() {
    let mut lane_group = LaneGroup::new(2);
    let _callers = [16, 32].map(|iterations| {
        let (job, caller) = job(1, iterations);
        lane_group.insert(job, Instant::now());
        caller
    });
    run_dry(&mut lane_group);
    for lane in &lane_group.lanes {
        assert_eq!(lane.keys, [[0; 18]; 2]);
        assert_eq!(lane.subkeys, [0; 18]);
        assert_eq!(lane.boxes, [[0; 256]; 4]);
    }
}
