use super::{CheckTerms, ForeignChecks};
use rolegate_bcrypt_lanes::{EngineError, Stats, Timed};
use std::{
    net::IpAddr,
    sync::{
        Arc,
        mpsc::{Sender, channel},
    },
    time::{Duration, Instant},
};
use tokio::task::{JoinHandle, yield_now};

const ANN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
const BOB: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));
/// The number of iterations that two threads do in a second.
const SPEED: u64 = 1000;

fn terms(work: u64, client: IpAddr, deadline: Instant) -> CheckTerms {
    CheckTerms {
        work,
        client,
        deadline,
        iterations_per_second: SPEED,
    }
}

type Outcome = Result<Timed<bool>, EngineError>;

/// Checks on two threads that run until the test lets them end.
struct Checks(Arc<ForeignChecks>);

impl Checks {
    fn new() -> Self {
        Self(Arc::new(ForeignChecks::new(2)))
    }

    fn start(&self, work: u64, client: IpAddr) -> (JoinHandle<Outcome>, Sender<()>) {
        let (end, may_end) = channel();
        let checks = Arc::clone(&self.0);
        let check = move || may_end.recv().is_ok();
        let run = async move {
            let deadline = Instant::now() + Duration::from_secs(10);
            checks.run(check, terms(work, client, deadline)).await
        };
        (tokio::spawn(run), end)
    }

    /// Waits until `count` checks run.
    async fn running(&self, count: usize) {
        while self.0.running.available_permits() != 2 - count {
            yield_now().await;
        }
    }

    fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        self.0.add_to(&mut stats);
        stats
    }
}

async fn matches(check: JoinHandle<Outcome>) -> bool {
    check.await.expect("no panic").expect("an answer").value
}

#[tokio::test]
async fn as_many_checks_run_as_there_are_threads_and_the_next_waits() {
    let checks = Checks::new();
    let started: Vec<_> = (0..3).map(|_| checks.start(1, ANN)).collect();
    checks.running(2).await;
    let [first, second, third] = <[_; 3]>::try_from(started).expect("three");
    assert!(!third.0.is_finished());
    third.1.send(()).expect("waits");
    first.1.send(()).expect("runs");
    assert!(matches(first.0).await && matches(third.0).await);
    second.1.send(()).expect("runs");
    assert!(matches(second.0).await);
    checks.running(0).await;
    assert!(
        checks.0.work_by_client.lock().is_empty(),
        "clients without checks are forgotten"
    );
    assert_eq!(checks.stats().completed, 3);
}

#[tokio::test]
async fn a_check_that_would_be_late_is_refused_at_once_and_one_of_another_client_is_not() {
    let checks = Checks::new();
    // Beside the lanes, a check may use eight of the ten seconds before its deadline. The pending work of its
    // client counts twice.
    let held: Vec<_> = (0..2).map(|_| checks.start(1000, ANN)).collect();
    checks.running(2).await;
    let (refused, _end) = checks.start(10, ANN);
    let Err(EngineError::Refused { retry_after }) = refused.await.expect("done") else {
        panic!("not refused");
    };
    assert!(
        (1..100).contains(&retry_after.as_millis()),
        "{retry_after:?}"
    );
    let (admitted, end) = checks.start(10, BOB);
    yield_now().await;
    let (refused, _end) = checks.start(1000, [192, 0, 2, 3].into());
    let refused = refused.await.expect("done");
    assert!(
        matches!(refused, Err(EngineError::Refused { .. })),
        "{refused:?}"
    );
    assert_eq!(checks.stats().refused, 2);
    end.send(()).expect("waits");
    for (check, end) in held {
        end.send(()).expect("runs");
        assert!(matches(check).await);
    }
    assert!(matches(admitted).await);
}

#[tokio::test]
async fn a_check_that_waits_until_its_deadline_does_not_run() {
    let checks = Checks::new();
    let held: Vec<_> = (0..2).map(|_| checks.start(1, ANN)).collect();
    checks.running(2).await;
    let deadline = Instant::now() + Duration::from_millis(50);
    let late = checks
        .0
        .run(|| panic!("runs"), terms(1, BOB, deadline))
        .await;
    assert_eq!(late, Err(EngineError::DeadlinePassed));
    assert_eq!(checks.stats().expired, 1);
    drop(held);
}

#[tokio::test]
async fn a_check_that_waits_until_it_cannot_end_in_time_does_not_run() {
    let checks = Checks::new();
    let held: Vec<_> = (0..2).map(|_| checks.start(1, ANN)).collect();
    checks.running(2).await;
    let began = Instant::now();
    let deadline = began + Duration::from_secs(30);
    // The check would take 29.9 of the 30 seconds on its thread. No thread is free, so the check stops waiting
    // after a tenth of a second.
    let work = 14_950;
    let pending = checks.0.admit(&terms(1, BOB, deadline)).expect("admitted");
    let terms = terms(work, BOB, deadline);
    let late = tokio::time::timeout(
        Duration::from_secs(5),
        checks.0.wait_for_permit(&terms, began),
    );
    assert!(late.await.expect("before its deadline").is_none());
    drop((pending, held));
}

#[tokio::test]
async fn a_check_whose_caller_has_left_keeps_its_place_to_its_end() {
    let checks = Checks::new();
    let (left, end) = checks.start(1, ANN);
    checks.running(1).await;
    left.abort();
    assert!(left.await.is_err());
    assert_eq!(checks.0.running.available_permits(), 1);
    end.send(()).expect("runs");
    checks.running(0).await;
}

#[tokio::test]
async fn a_check_that_panics_is_lost_and_frees_its_place() {
    let checks = Checks::new();
    for panics in 1..=3 {
        let deadline = Instant::now() + Duration::from_secs(10);
        let lost = checks
            .0
            .run(|| panic!("sabotaged"), terms(1, ANN, deadline))
            .await;
        assert_eq!(lost, Err(EngineError::Lost));
        assert_eq!(checks.stats().panics, panics);
    }
    let (check, end) = checks.start(1, ANN);
    end.send(()).expect("waits");
    assert!(matches(check).await);
}
