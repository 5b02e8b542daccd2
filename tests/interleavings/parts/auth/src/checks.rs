//! Scenarios of password/foreign_checks.rs, which checks imported hashes on threads of their own.

use super::foreign_checks::{CheckTerms, ForeignChecks};
use crate::{CLIENT, Running, join_all};
use rolegate_bcrypt_lanes::{EngineError, Stats};
use shuttle::{
    current::{Labels, me, set_label_for_task},
    rand::{Rng as _, thread_rng},
    thread,
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    spawn,
    task::JoinHandle,
    time::{clear_triggers, trigger_timeouts},
};

const PER_SECOND: u64 = 1000;

/// Runs a check, during which other tasks can run.
fn run(checks: &Arc<ForeignChecks>, running: &Running, may_expire: bool) -> JoinHandle<()> {
    let (checks, running) = (Arc::clone(checks), running.clone());
    spawn(async move {
        if may_expire {
            set_label_for_task(me(), Expires);
        }
        let check = move || {
            let _run = running.begin();
            thread::yield_now();
            true
        };
        let deadline = Instant::now() + Duration::from_hours(1);
        let terms = CheckTerms {
            work: 1,
            client: CLIENT,
            deadline,
            iterations_per_second: PER_SECOND,
        };
        match checks.run(check, terms).await {
            Ok(answer) => assert!(answer.value),
            Err(error) => assert!(
                may_expire && error == EngineError::DeadlinePassed,
                "{error}"
            ),
        }
    })
}

fn stats(checks: &ForeignChecks) -> Stats {
    let mut stats = Stats::default();
    checks.add_to(&mut stats);
    stats
}

/// Checks that no more checks run at a time than allowed, and that all are answered.
pub fn checks_wait_for_a_place() {
    let threads = thread_rng().gen_range(1..=2);
    let (checks, running) = (Arc::new(ForeignChecks::new(threads)), Running::default());
    join_all([0; 3].map(|_| run(&checks, &running, false)));
    running.assert_at_most(threads);
    assert_eq!(stats(&checks).completed, 3);
}

/// Checks that a caller that leaves keeps no place, and takes none from others.
pub fn leaving_callers_free_their_places() {
    let (checks, running) = (Arc::new(ForeignChecks::new(1)), Running::default());
    let leaving = [0; 2].map(|_| run(&checks, &running, false));
    let staying = run(&checks, &running, false);
    for caller in &leaving {
        caller.abort();
    }
    join_all([staying, run(&checks, &running, false)]);
    running.assert_at_most(1);
}

/// Labels the tasks whose timeouts may end.
#[derive(Clone, Debug)]
struct Expires;

/// Checks that each check is either completed or expires, once. A check that expires while it gets its place does not
/// keep the place.
pub fn expired_checks_free_their_places() {
    // Triggers outlive a schedule, so those of the previous one are removed.
    clear_triggers();
    let (checks, running) = (Arc::new(ForeignChecks::new(1)), Running::default());
    let callers = [0; 3].map(|_| run(&checks, &running, true));
    trigger_timeouts(|labels: &Labels| labels.get::<Expires>().is_some());
    join_all(callers);
    clear_triggers();
    let Stats {
        completed, expired, ..
    } = stats(&checks);
    assert_eq!(completed + expired, 3, "answered checks");
    join_all([run(&checks, &running, false)]);
    running.assert_at_most(1);
}
