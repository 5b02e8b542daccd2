//! Runs the simulation of one seed, and reports what was violated.

use crate::{
    clients,
    faults::{AUTH, CALM, Faults, POSTS},
    history::{History, Shared},
    programs,
    properties::{self, Verdict},
};
use mad_turmoil::{rand::set_rng, time::SimClocksGuard};
use rand::{SeedableRng as _, rngs::StdRng};
use rolegate_sql_store::simulated;
use sha2::{Digest as _, Sha256};
use std::{
    env,
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{self, ExitCode},
    time::Duration,
};

/// The simulated time after which a run is given up. No run that works takes as long.
const END: Duration = Duration::from_secs(90);
const TICK: Duration = Duration::from_millis(2);

pub(crate) fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (seed, trace) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [seed] => (seed.parse(), false),
        [seed, "--trace"] => (seed.parse(), true),
        _ => ("".parse(), false),
    };
    let Ok(seed) = seed else {
        let _ = writeln!(io::stderr(), "usage: simulation SEED [--trace]");
        return ExitCode::from(64);
    };
    let folder = match DatabaseFolder::create() {
        Ok(folder) => folder,
        Err(error) => {
            let _ = writeln!(io::stderr(), "no folder for the databases: {error}");
            return ExitCode::FAILURE;
        }
    };
    // This must come before the first `HashMap`, which takes its seed from the random numbers.
    set_rng(StdRng::seed_from_u64(seed));
    let _clocks = SimClocksGuard::init();
    if trace {
        let lines = tracing_subscriber::fmt().without_time().with_ansi(false);
        lines
            .with_max_level(tracing::Level::TRACE)
            .with_writer(io::stdout)
            .init();
    }
    let (history, faults, outcome) = run(seed, trace);
    drop(folder);
    let history = history.borrow();
    let mut verdict = properties::check(&history, &faults);
    if let Err(error) = outcome {
        verdict
            .violations
            .push(format!("a client or a program failed: {error}"));
    }
    report(seed, &history, &faults, &verdict)
}

/// The folder of the databases, in memory if possible. It is removed when it is dropped.
///
/// It is the current folder of the process, so its name, which differs in every run, does not get into a trace.
struct DatabaseFolder(PathBuf);

impl DatabaseFolder {
    fn create() -> io::Result<Self> {
        let in_memory = Path::new("/dev/shm");
        let parent = if in_memory.is_dir() {
            in_memory.to_owned()
        } else {
            env::temp_dir()
        };
        let folder = parent.join(format!("rolegate-simulation-{}", process::id()));
        fs::create_dir(&folder)?;
        let folder = Self(folder);
        env::set_current_dir(&folder.0)?;
        Ok(folder)
    }
}

impl Drop for DatabaseFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run(seed: u64, trace: bool) -> (Shared, Faults, turmoil::Result) {
    let history = Shared::default();
    simulated::reset(seed);
    let mut sim = turmoil::Builder::new()
        .rng_seed(seed)
        .tick_duration(TICK)
        .min_message_latency(Duration::from_millis(1))
        .max_message_latency(Duration::from_millis(5))
        .simulation_duration(END * 2)
        .tcp_capacity(1024)
        .enable_random_order()
        .build();
    for auth in AUTH {
        sim.host(auth, || {
            programs::restarted("auth-service", programs::auth_service)
        });
    }
    for posts in POSTS {
        sim.host(posts, || {
            programs::restarted("posts-service", programs::posts_service)
        });
    }
    sim.host("gateway", || {
        programs::restarted("gateway", programs::gateway)
    });
    sim.client("admin", clients::admin(history.clone(), seed));
    sim.client("guesser", clients::guesser(history.clone(), seed));
    for user in 0..clients::USERS {
        sim.client(
            format!("user-{user}"),
            clients::user(history.clone(), seed, user),
        );
    }
    let mut faults = Faults::draw(seed);
    let mut printed = 0;
    let outcome = loop {
        let is_calm = history.borrow().is_calm;
        let at = sim.elapsed();
        if !is_calm {
            faults.apply(&mut sim, &mut |line| {
                history.borrow_mut().line_at(at, &line)
            });
        }
        if !is_calm && at >= CALM {
            faults.end(&mut sim);
            let mut history = history.borrow_mut();
            history.is_calm = true;
            history.line_at(at, "no more faults");
        }
        match sim.step() {
            Ok(false) if sim.elapsed() < END => {}
            Ok(_) => break Ok(()),
            Err(error) => break Err(error),
        }
        if trace {
            let history = history.borrow();
            let mut stdout = io::stdout().lock();
            for line in &history.lines[printed..] {
                let _ = writeln!(stdout, "{line}");
            }
            printed = history.lines.len();
        }
    };
    (history, faults, outcome)
}

/// Prints one line of numbers, and one line for each violation.
fn report(seed: u64, history: &History, faults: &Faults, verdict: &Verdict) -> ExitCode {
    let mut digest = Sha256::new();
    for line in &history.lines {
        digest.update(line);
    }
    let digest = digest.finalize();
    let hash = digest
        .iter()
        .take(8)
        .fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
    let mut line = format!("seed={seed} trace={hash} requests={}", history.requests);
    let _ = write!(
        line,
        " longest_ms={} recovery_ms={}",
        history.longest,
        history.recovered.unwrap_or(END).as_millis()
    );
    for (name, number) in &faults.done {
        let _ = write!(line, " fault_{name}={number}");
    }
    for (name, number) in &verdict.checked {
        let _ = write!(line, " {name}={number}");
    }
    for violation in &verdict.violations {
        let _ = write!(line, "\nVIOLATION seed={seed} {violation}");
    }
    let _ = writeln!(io::stdout(), "{line}");
    if verdict.violations.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
