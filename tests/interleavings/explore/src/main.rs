//! Runs scenarios on many schedules: `explore [NAME…]`. Names are prefixes such as `batcher`.
//!
//! `batcher`, `lanes`, `auth` and `balancer` list the scenarios, each with its property. `runs` makes the schedules and
//! reports failures.
//!
//! `SCHEDULES` is the number of schedules of all scenarios together, by default a million. Half of them are random, and
//! half come from PCT with up to three preemptions at chosen steps (Burckhardt et al., 2010). `SEED` repeats a run.
//! `REPLAY=FILE` runs a single named scenario again, on the schedule in that file. A failure writes such a file into
//! the folder `FAILURES`, by default the current one.

mod auth;
mod balancer;
mod batcher;
mod lanes;
mod runs;

use runs::{Scenario, explore, replay};
use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let names: Vec<String> = env::args().skip(1).collect();
    let all = [
        batcher::SCENARIOS,
        lanes::SCENARIOS,
        auth::SCENARIOS,
        balancer::SCENARIOS,
    ]
    .concat();
    let is_wanted =
        |it: &Scenario| names.is_empty() || names.iter().any(|name| it.name.starts_with(name));
    let chosen: Vec<_> = all.into_iter().filter(is_wanted).collect();
    if chosen.is_empty() {
        eprintln!("explore: no scenario has such a name");
        return ExitCode::from(64);
    }
    if let Ok(file) = env::var("REPLAY") {
        let [scenario] = &chosen[..] else {
            eprintln!("explore: REPLAY needs the name of one scenario");
            return ExitCode::from(64);
        };
        if !replay(scenario, &file) {
            return ExitCode::FAILURE;
        }
        println!("explore: {} holds on this schedule", scenario.name);
        return ExitCode::SUCCESS;
    }
    explore(&chosen)
}
