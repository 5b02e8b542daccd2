//! Checks that a seed always gives the same run, in another process, too.
#![cfg(simulation)]

use std::process::Command;

fn run(seed: u64) -> (bool, Vec<u8>) {
    let program = env!("CARGO_BIN_EXE_simulation");
    let run = Command::new(program)
        .args([&seed.to_string(), "--trace"])
        .output()
        .expect("it runs");
    (run.status.success(), run.stdout)
}

#[test]
fn one_seed_replays_byte_for_byte_with_every_segment_and_log_line() {
    for seed in [1, 2, 3] {
        let (one, other) = (run(seed), run(seed));
        assert!(
            one.1.len() > 100_000,
            "the trace has the segments of the network"
        );
        let differs = one
            .1
            .iter()
            .zip(&other.1)
            .position(|(one, other)| one != other);
        let around = differs.map(|at| {
            let from = at.saturating_sub(300);
            let show = |trace: &[u8]| {
                String::from_utf8_lossy(&trace[from..(at + 300).min(trace.len())]).into_owned()
            };
            (show(&one.1), show(&other.1))
        });
        assert!(
            one == other,
            "seed {seed} differs at {differs:?}: {around:#?}"
        );
    }
    assert_ne!(run(1).1, run(2).1, "another seed is another run");
}
