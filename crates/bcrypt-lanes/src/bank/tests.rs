use std::time::{Duration, Instant};

use futures_channel::oneshot::Receiver;
use proptest::prelude::*;

use super::Bank;
use crate::EngineError;
use crate::job::{Job, Reply, tests::job};
use crate::kernel::WIDEST;
use crate::password::ExpandedPassword;
use crate::stored::{Digest, Stored};

/// A hash to be computed.
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

    /// The same by the `bcrypt` crate.
    fn by_the_crate(&self) -> Digest {
        let hash = bcrypt::hash_with_salt(&self.password, self.cost, self.salt);
        let hash = hash.expect("a valid cost").to_string();
        Stored::parse(&hash).expect("a valid hash").digest
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
    caller.try_recv().ok().flatten()?.ok().map(|answer| answer.digest)
}

fn run_dry(bank: &mut Bank) {
    while bank.width() > 0 {
        bank.step(1000);
        bank.sweep(Instant::now());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Jobs join whenever a lane is free, after slices of any length, so that hashes of different
    /// costs pass through kernels of all widths and move between lanes.
    #[test]
    fn every_hash_is_the_crate_s_whatever_runs_beside_it(
        lanes in 1..=WIDEST,
        cases in prop::collection::vec(case(), 1..20),
        slices in prop::collection::vec(1u32..9, 1..50),
    ) {
        let mut bank = Bank::new(lanes);
        let mut waiting = cases.iter();
        let mut callers = Vec::new();
        let mut slices = slices.iter().cycle();
        while callers.len() < cases.len() || bank.width() > 0 {
            if bank.width() < lanes && let Some(case) = waiting.next() {
                let (job, caller) = case.job();
                bank.join(job, Instant::now());
                callers.push(caller);
            }
            bank.step(*slices.next().unwrap_or(&1));
            bank.sweep(Instant::now());
        }
        for (case, caller) in cases.iter().zip(&mut callers) {
            prop_assert_eq!(digest(caller), Some(case.by_the_crate()), "{:?}", case);
        }
    }
}

#[test]
fn every_length_of_password_is_read_as_the_crate_reads_it() {
    for length in 0..=80_u8 {
        let case = Case { cost: 4, salt: [length; 16], password: (1..=length).collect() };
        let (mut bank, (job, mut caller)) = (Bank::new(1), case.job());
        bank.join(job, Instant::now());
        run_dry(&mut bank);
        assert_eq!(digest(&mut caller), Some(case.by_the_crate()), "{length} bytes");
    }
}

#[test]
fn a_lane_is_free_again_when_nobody_waits_or_the_deadline_has_passed() {
    let mut bank = Bank::new(3);
    let now = Instant::now();
    let (abandoned, caller) = job(1, 1 << 20);
    drop(caller);
    let (mut late, mut late_caller) = job(1, 1 << 20);
    late.deadline = now + Duration::from_secs(1);
    let (awaited, mut caller) = job(1, 16);
    for job in [abandoned, late, awaited] {
        bank.join(job, now);
    }
    bank.step(1);
    let ended = bank.sweep(now + Duration::from_secs(2));
    assert_eq!((ended.dropped, ended.expired, bank.width()), (1, 1, 1));
    let late = late_caller.try_recv().ok().flatten();
    assert!(matches!(late, Some(Err(EngineError::DeadlinePassed))));
    run_dry(&mut bank);
    assert!(digest(&mut caller).is_some(), "the one that moved is whole");
}

#[test]
fn a_failed_check_of_an_old_hash_takes_as_long_as_today_s_cost_and_a_good_one_does_not() {
    let case = Case { cost: 4, salt: [1; 16], password: b"old".to_vec() };
    for (expected, iterations, matches) in [(case.by_the_crate(), 16, true), ([0; 23], 64, false)] {
        let (mut job, mut caller) = case.job();
        job.expected = Some(expected);
        job.iterations_if_wrong = 64;
        let mut bank = Bank::new(1);
        bank.join(job, Instant::now());
        let mut done = 0;
        while bank.width() > 0 {
            assert_eq!(bank.load().work, 64 - u64::from(done));
            done += bank.step(5);
            bank.sweep(Instant::now());
        }
        let answer = caller.try_recv().ok().flatten().and_then(Result::ok);
        assert_eq!(answer.map(|a| a.matches), Some(matches));
        assert_eq!(done, iterations);
    }
}

#[test]
fn nothing_of_a_password_stays_in_a_lane_that_is_left() {
    let mut bank = Bank::new(2);
    let _callers = [16, 32].map(|iterations| {
        let (job, caller) = job(1, iterations);
        bank.join(job, Instant::now());
        caller
    });
    run_dry(&mut bank);
    for lane in &bank.lanes {
        assert_eq!(lane.keys, [[0; 18]; 2]);
        assert_eq!(lane.subkeys, [0; 18]);
        assert_eq!(lane.boxes, [[0; 256]; 4]);
    }
}
