//! Compares the throughput of the engine with the `bcrypt` crate on this machine.
//!
//! Run it with `cargo run --release -p rolegate-bcrypt-lanes --example lanes [cost [rounds]]`. The defaults
//! are cost 10 and 5 rounds.
//!
//! Every measurement uses all cores. Each load of the engine is measured between two measurements of the
//! crate. The output shows medians of the ratios to these neighbors, because other processes slow both down.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line program"
)]
#![expect(clippy::cast_precision_loss, reason = "small numbers")]

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rolegate_bcrypt_lanes::{ClientKey, Cost, Engine, Settings, self_test};

/// The measured loads, each as a number of concurrent callers per core.
const CALLERS: [usize; 6] = [1, 2, 4, 6, 8, 16];

/// The number of hashes per core and measurement, which is eight times the number of lanes.
const HASHES: usize = 48;

/// The result of one measurement: hashes per second and core, and the median time of one hash in seconds.
#[derive(Clone, Copy)]
struct Measured {
    rate: f64,
    latency: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u32>());
    let cost = arguments.next().unwrap_or(Ok(10)).ok().and_then(Cost::new);
    let rounds = arguments.next().unwrap_or(Ok(5));
    let (Some(cost), Ok(rounds @ 1..)) = (cost, rounds) else {
        eprintln!("usage: lanes [cost 4 to 31 [rounds]]");
        return ExitCode::from(64);
    };
    if let Err(wrong) = self_test() {
        eprintln!("{wrong}");
        return ExitCode::FAILURE;
    }
    let settings = Settings::default();
    let Ok(engine) = Engine::start(settings).map(Arc::new) else {
        eprintln!("cannot start threads");
        return ExitCode::FAILURE;
    };

    // `crates` has the rates of the crate. For each load, `engines` has the rates and the latencies of the
    // engine, as ratios to those of the crate.
    let mut crates = Vec::new();
    let mut engines = CALLERS.map(|_| (Vec::new(), Vec::new()));
    let mut before = crate_on_all_cores(settings.threads, cost);
    for _ in 0..rounds {
        for (waiting, (rates, latencies)) in CALLERS.iter().zip(&mut engines) {
            let engine = engine_under_load(&engine, settings.threads, *waiting, cost).await;
            let after = crate_on_all_cores(settings.threads, cost);
            rates.push(engine.rate * 2.0 / (before.rate + after.rate));
            latencies.push(engine.latency * 2.0 / (before.latency + after.latency));
            crates.push(after.rate);
            before = after;
        }
    }

    let base = median(&mut crates);
    let lone = median(&mut engines[0].1);
    println!(
        "cost {}, {} threads of {} lanes, {rounds} rounds",
        cost.get(),
        settings.threads,
        settings.lanes
    );
    println!("callers  hashes/s  ratio to  median latency  latency to the");
    println!("per core per core  the crate to the crate's  engine's lone");
    println!("  crate  {base:8.1}      1.00            1.00               -");
    for (waiting, (rates, latencies)) in CALLERS.iter().zip(&mut engines) {
        let (rate, latency) = (median(rates), median(latencies));
        println!(
            "{waiting:7}  {:8.1}  {rate:8.2}  {latency:14.2}  {:14.2}",
            base * rate,
            latency / lone
        );
    }
    ExitCode::SUCCESS
}

/// Measures sequential hashes of the `bcrypt` crate, on all cores at once.
fn crate_on_all_cores(threads: usize, cost: Cost) -> Measured {
    let hash = move || {
        let begun = Instant::now();
        black_box(bcrypt::bcrypt(
            cost.get(),
            black_box([7; 16]),
            b"correct horse\0",
        ));
        begun.elapsed().as_secs_f64()
    };
    let core = move || {
        // The crate runs at the priority of the engine's workers, so that other load slows both equally.
        #[cfg(target_os = "linux")]
        let _ = rustix::process::setpriority_process(None, 10);
        (0..8).map(|_| hash()).collect::<Vec<_>>()
    };
    let cores: Vec<_> = (0..threads).map(|_| thread::spawn(core)).collect();
    let mut times: Vec<f64> = (cores.into_iter())
        .flat_map(|core| core.join().unwrap_or_default())
        .collect();
    let latency = median(&mut times);
    Measured {
        rate: 1.0 / latency,
        latency,
    }
}

/// Measures `waiting` callers per core, each of which hashes sequentially.
async fn engine_under_load(
    engine: &Arc<Engine>,
    cores: usize,
    waiting: usize,
    cost: Cost,
) -> Measured {
    let begun = Instant::now();
    let left = Arc::new(AtomicUsize::new(cores * HASHES));
    let callers: Vec<_> = (0..cores * waiting)
        .map(|_| tokio::spawn(caller(Arc::clone(engine), Arc::clone(&left), cost)))
        .collect();
    let mut times = Vec::new();
    for caller in callers {
        times.extend(caller.await.unwrap_or_default());
    }
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64() / cores as f64;
    let latency = median(&mut times);
    Measured { rate, latency }
}

/// Hashes sequentially until no hash is `left`, and returns the time of each hash in seconds.
async fn caller(engine: Arc<Engine>, left: Arc<AtomicUsize>, cost: Cost) -> Vec<f64> {
    let mut times = Vec::new();
    while left
        .try_update(Relaxed, Relaxed, |left| left.checked_sub(1))
        .is_ok()
    {
        let begun = Instant::now();
        let deadline = begun + Duration::from_hours(1);
        let hash = engine.hash(b"correct horse", cost, ClientKey::default(), deadline);
        if hash.await.is_ok() {
            times.push(begun.elapsed().as_secs_f64());
        }
    }
    times
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
