//! Prints the figures of a proof, for `tests/prove`.

/// Prints in one line what a test has tried for a promise of `docs/guarantees.md`, and what it has
/// seen and asserted.
///
/// Each count comes with the words for what it counts. `tests/prove` adds up the counts with the
/// same words. Of those that begin with `slowest`, it takes the greatest.
#[expect(clippy::print_stdout, reason = "tests/prove reads it")]
pub fn proof(promise: &str, tried: &[(&str, usize)], seen: &[(&str, usize)]) {
    println!(
        "proof: {promise}: tried {}; seen {}",
        in_words(tried),
        in_words(seen)
    );
}

fn in_words(counts: &[(&str, usize)]) -> String {
    let counts: Vec<_> = counts
        .iter()
        .map(|(words, count)| format!("{words} {count}"))
        .collect();
    counts.join(", ")
}
