//! Runs scenarios on schedules, counts the schedules, and reports failures.

use exchanged_std::time::restart_clock;
use shuttle::{
    Config, FailurePersistence, MaxSteps, Runner,
    future::block_on,
    scheduler::{
        PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId,
    },
};
use std::{
    env,
    hash::{BuildHasher as _, RandomState},
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
    sync::{
        Arc, Once,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};
use tokio::task::JoinHandle;

/// A scenario: what concurrent tasks do, and a property that must hold in each order of their steps.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) property: &'static str,
    /// Runs the tasks, and panics if the property does not hold.
    pub(crate) run: fn(),
}

/// The text of panics that a scenario causes on purpose.
const INTENDED: &str = "as the scenario intends";
/// The most steps of a schedule. No scenario needs nearly as many, so one that reaches them does not end.
const MAX_STEPS: usize = 200_000;
/// The number of preemptions at chosen steps.
const DEPTH: usize = 3;

/// Waits for tasks that must not fail.
pub(crate) fn join_all(tasks: impl IntoIterator<Item = JoinHandle<()>>) {
    block_on(async {
        for task in tasks {
            task.await.expect("a task");
        }
    });
}

/// Runs each scenario on its share of `SCHEDULES`; stops at the first failure.
pub(crate) fn explore(scenarios: &[Scenario]) -> ExitCode {
    let number =
        |name: &str, default: u64| env::var(name).map_or(default, |it| it.parse().expect(name));
    let seed = number("SEED", RandomState::new().hash_one(()));
    let each =
        usize::try_from(number("SCHEDULES", 1_000_000)).expect("SCHEDULES") / scenarios.len() / 2;
    let each = each.max(1);
    println!("explore: SEED={seed}, {each} random schedules and {each} of PCT for each scenario");
    let (started, mut total) = (Instant::now(), 0);
    for scenario in scenarios {
        println!("{}: {}", scenario.name, scenario.property);
        let random = RandomScheduler::new_from_seed(seed, each);
        let pct = PctScheduler::new_from_seed(seed, DEPTH, each);
        for counts in [run(scenario, "random", random), run(scenario, "PCT", pct)] {
            let Some(schedules) = counts else {
                println!("explore: FAILED: {}, with SEED={seed}", scenario.name);
                return ExitCode::FAILURE;
            };
            total += schedules;
        }
    }
    let seconds = started.elapsed().as_secs();
    println!(
        "explore: {} scenarios hold on {total} schedules, in {seconds} s",
        scenarios.len()
    );
    ExitCode::SUCCESS
}

/// Runs a scenario on schedules, and returns their number, or `None` if one failed.
fn run(scenario: &Scenario, kind: &str, scheduler: impl Scheduler + 'static) -> Option<u64> {
    let counts = Arc::<Counts>::default();
    let scheduler = Counted {
        scheduler,
        counts: Arc::clone(&counts),
    };
    let started = Instant::now();
    let is_held = is_held(scenario, scheduler);
    let (schedules, steps) = (counts.schedules.load(Relaxed), counts.steps.load(Relaxed));
    let seconds = started.elapsed().as_secs_f64();
    if !is_held {
        println!("  does not hold on {kind} schedule {schedules}, after {seconds:.1} s");
        return None;
    }
    let mean = steps / schedules.max(1);
    println!("  {schedules} {kind} schedules, {steps} steps ({mean} each), {seconds:.1} s");
    Some(schedules)
}

/// Runs a scenario on a schedule from a file.
pub(crate) fn replay(scenario: &Scenario, file: &str) -> bool {
    let mut scheduler = ReplayScheduler::new_from_file(file).expect("the file of a schedule");
    scheduler.set_allow_incomplete();
    is_held(scenario, scheduler)
}

fn is_held(scenario: &Scenario, scheduler: impl Scheduler + 'static) -> bool {
    let mut config = Config::new();
    config.stack_size = 0x4_0000;
    config.max_steps = MaxSteps::FailAfter(MAX_STEPS);
    config.silence_warnings = true;
    config.failure_persistence =
        FailurePersistence::File(env::var_os("FAILURES").map(std::path::PathBuf::from));
    quieten(&config);
    let run = scenario.run;
    let runner = Runner::new(scheduler, config);
    let schedules = AssertUnwindSafe(|| {
        runner.run(move || {
            restart_clock();
            run();
        })
    });
    panic::catch_unwind(schedules).is_ok()
}

/// Keeps the panic hook of shuttle, which writes the schedule to a file, from running for panics that a scenario
/// intends.
fn quieten(config: &Config) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The first run installs the hook.
        Runner::new(RandomScheduler::new(1), config.clone()).run(|| {});
        let of_shuttle = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if panic.payload_as_str() != Some(INTENDED) {
                of_shuttle(panic);
            }
        }));
    });
}

#[derive(Debug, Default)]
struct Counts {
    schedules: AtomicU64,
    steps: AtomicU64,
}

/// Counts the schedules and steps of a scheduler.
#[derive(Debug)]
struct Counted<S> {
    scheduler: S,
    counts: Arc<Counts>,
}

impl<S: Scheduler> Scheduler for Counted<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        let schedule = self.scheduler.new_execution();
        self.counts
            .schedules
            .fetch_add(schedule.is_some().into(), Relaxed);
        schedule
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        self.counts.steps.fetch_add(1, Relaxed);
        self.scheduler.next_task(runnable, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.scheduler.next_u64()
    }
}
