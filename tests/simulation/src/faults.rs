//! Draws from the seed what fails in a run and when, before the run begins, and then causes these faults.

use crate::{
    dice::{below, dice, pick},
    programs::{POSTS_FILE, USERS_FILE},
};
use rand::rngs::StdRng;
use rolegate_sql_store::simulated::{self, Plan, step_clock};
use std::{collections::BTreeMap, time::Duration};
use turmoil::Sim;

pub(crate) const AUTH: [&str; 3] = ["auth-1", "auth-2", "auth-3"];
pub(crate) const POSTS: [&str; 2] = ["posts-1", "posts-2"];
const GATEWAY: &str = "gateway";
/// When the first fault may begin, in milliseconds of simulated time. All faults end by `END`.
const BEGIN: u64 = 2_000;
const END: u64 = 24_000;
/// When all links, programs and databases work again.
pub(crate) const CALM: Duration = Duration::from_millis(END + 1_000);
/// How many seconds the database's clock may step back. This is what docs/backup-and-recovery.md allows.
const MAX_STEP_BACK: i64 = 2;

type Link = (&'static str, &'static str);

#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    Cut(Link),
    CutOneWay(Link),
    Repair(Link),
    Hold(Link),
    Release(Link),
    Slow(Link, u64),
    /// The link loses this many of a million segments.
    Lossy(Link, u32),
    Crash(&'static str),
    Start(&'static str),
    /// Disturbs the reads and writes of the database in the file of this name.
    SlowDatabase(&'static str, Plan),
    StepClock(i64),
}

/// The faults of a run. In `due`, the next one is last.
pub(crate) struct Faults {
    due: Vec<(u64, Fault)>,
    pub(crate) done: BTreeMap<&'static str, u64>,
    /// Set when the gateway may have lost an auth-service. The failed logins of a name are then counted at another one.
    pub(crate) has_moved_names: bool,
    /// How often an auth-service was started again, which makes it forget its counts.
    pub(crate) restarts: u32,
}

impl Faults {
    pub(crate) fn draw(seed: u64) -> Self {
        let mut dice = dice(seed, 7);
        let mut due = Vec::new();
        let kinds: Vec<u64> = (0..9).filter(|_| below(&mut dice, 2) == 0).collect();
        let number = if kinds.is_empty() {
            0
        } else {
            1 + below(&mut dice, 14)
        };
        for _ in 0..number {
            let kind = pick(&mut dice, &kinds);
            add(&mut due, &mut dice, kind);
        }
        due.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        Self {
            due,
            done: BTreeMap::new(),
            has_moved_names: false,
            restarts: 0,
        }
    }

    /// Causes or ends the faults whose time has come.
    pub(crate) fn apply(&mut self, sim: &mut Sim<'_>, log: &mut dyn FnMut(String)) {
        while let Some((_, fault)) = self
            .due
            .pop_if(|(at, _)| u128::from(*at) <= sim.elapsed().as_millis())
        {
            log(format!("fault: {fault:?}"));
            self.make(sim, fault);
        }
    }

    /// Ends all faults: repairs the links, starts crashed programs, and makes the databases fast and reliable.
    pub(crate) fn end(&mut self, sim: &mut Sim<'_>) {
        self.due.clear();
        for link in links() {
            sim.repair(link.0, link.1);
            sim.release(link.0, link.1);
            sim.set_link_fail_rate(link.0, link.1, 0.0);
            sim.set_link_max_message_latency(link.0, link.1, Duration::from_millis(5));
        }
        for host in hosts() {
            if !sim.is_host_running(host) {
                self.make(sim, Fault::Start(host));
            }
        }
        for database in [USERS_FILE, POSTS_FILE] {
            let plan = Plan {
                delay: 2,
                ..Plan::default()
            };
            simulated::plan(database, plan);
        }
    }

    fn make(&mut self, sim: &mut Sim<'_>, fault: Fault) {
        let name = match fault {
            Fault::Cut((a, b)) => {
                sim.partition(a, b);
                "cut"
            }
            Fault::CutOneWay((a, b)) => {
                sim.partition_oneway(a, b);
                "cut_one_way"
            }
            Fault::Hold((a, b)) => {
                sim.hold(a, b);
                "held"
            }
            Fault::Slow((a, b), millis) => {
                sim.set_link_max_message_latency(a, b, Duration::from_millis(millis));
                "slow"
            }
            Fault::Lossy((a, b), millionths) => {
                sim.set_link_fail_rate(a, b, f64::from(millionths) / 1e6);
                "lossy"
            }
            Fault::Crash(host) => {
                sim.crash(host);
                "crash"
            }
            Fault::SlowDatabase(database, plan) => {
                simulated::plan(database, plan);
                database
            }
            Fault::StepClock(seconds) => {
                step_clock(seconds);
                "clock"
            }
            Fault::Repair((a, b)) => return sim.repair(a, b),
            Fault::Release((a, b)) => return sim.release(a, b),
            Fault::Start(host) => {
                self.restarts += u32::from(AUTH.contains(&host));
                return sim.bounce(host);
            }
        };
        *self.done.entry(name).or_default() += 1;
        self.has_moved_names |= match fault {
            Fault::SlowDatabase(POSTS_FILE, _) | Fault::StepClock(_) => false,
            Fault::Crash(host) => !POSTS.contains(&host),
            Fault::Cut(link)
            | Fault::CutOneWay(link)
            | Fault::Hold(link)
            | Fault::Slow(link, _)
            | Fault::Lossy(link, _) => {
                link.0 == GATEWAY && AUTH.contains(&link.1) || link.1 == GATEWAY
            }
            _ => true,
        };
    }
}

/// Adds a fault of this kind, and its end.
fn add(due: &mut Vec<(u64, Fault)>, dice: &mut StdRng, kind: u64) {
    let at = BEGIN + below(dice, END - BEGIN);
    // Most faults are short, but some outlast the deadlines of calls and pings.
    let millis = pick(dice, &[200, 1_500, 8_000, 18_000]);
    let until = (at + 20 + below(dice, millis)).min(END);
    let link = pick(dice, &links().collect::<Vec<_>>());
    let back = (link.1, link.0);
    let host = pick(dice, &hosts().collect::<Vec<_>>());
    let (fault, end) = match kind {
        0 => (Fault::Cut(link), Some(Fault::Repair(link))),
        1 => {
            let link = if below(dice, 2) == 0 { link } else { back };
            (Fault::CutOneWay(link), Some(Fault::Repair(link)))
        }
        2 => (Fault::Hold(link), Some(Fault::Release(link))),
        3 => (
            Fault::Slow(link, 20 + below(dice, 600)),
            Some(Fault::Slow(link, 5)),
        ),
        4 => {
            let millionths = 200 + u32::try_from(below(dice, 20_000)).unwrap_or(0);
            (Fault::Lossy(link, millionths), Some(Fault::Lossy(link, 0)))
        }
        5 => (Fault::Crash(host), Some(Fault::Start(host))),
        6 => {
            let delay = pick(dice, &[20, 300, 4_000]);
            let (refused, lost) = (below(dice, 3) * below(dice, 200), below(dice, 400));
            let plan = Plan {
                delay: below(dice, delay),
                refused,
                lost,
            };
            (
                Fault::SlowDatabase(USERS_FILE, plan),
                Some(Fault::SlowDatabase(USERS_FILE, Plan::default())),
            )
        }
        7 => {
            let (refused, lost) = (below(dice, 200), below(dice, 400));
            let plan = Plan {
                delay: below(dice, 300),
                refused,
                lost,
            };
            (
                Fault::SlowDatabase(POSTS_FILE, plan),
                Some(Fault::SlowDatabase(POSTS_FILE, Plan::default())),
            )
        }
        _ if below(dice, 2) == 0 => (
            Fault::StepClock(1 + i64::try_from(below(dice, 9)).unwrap_or(0)),
            None,
        ),
        // The clock steps back only once in a run, because several steps could exceed what is allowed.
        _ if due
            .iter()
            .all(|(_, fault)| !matches!(fault, Fault::StepClock(..0))) =>
        {
            (Fault::StepClock(-MAX_STEP_BACK), None)
        }
        _ => return,
    };
    due.push((at, fault));
    due.extend(end.map(|end| (until, end)));
}

fn hosts() -> impl Iterator<Item = &'static str> {
    AUTH.into_iter().chain(POSTS).chain([GATEWAY])
}

/// Returns the links between programs, which can have any fault. The links of clients are only slow, so that each of
/// their calls ends.
fn links() -> impl Iterator<Item = Link> {
    let to_auth = |from| AUTH.into_iter().map(move |auth| (from, auth));
    let to_posts = POSTS.into_iter().map(|posts| (GATEWAY, posts));
    to_auth(GATEWAY)
        .chain(POSTS.into_iter().flat_map(to_auth))
        .chain(to_posts)
}
