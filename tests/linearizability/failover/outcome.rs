//! The checks and the counts of the scenario through failovers.

use super::Epoch;
use crate::history::Checked;
use e2e::TestResponse;

#[derive(Default)]
pub(super) struct Outcome {
    pub(super) checked: Checked,
    pub(super) confirmed_changes: usize,
    pub(super) unconfirmed_changes: usize,
    /// How many requests were answered with 503 or 504.
    pub(super) unavailable: usize,
    pub(super) epochs: Vec<Epoch>,
}

impl Outcome {
    pub(super) fn unavailable(&mut self, response: &TestResponse) {
        assert!([503, 504].contains(&response.status), "{response}");
        self.unavailable += 1;
    }

    /// Counts the response to a change. Returns whether it was confirmed.
    pub(super) fn add_change(&mut self, response: &TestResponse) -> bool {
        match response.status {
            200 => self.confirmed_changes += 1,
            // Every server that may decide knows the admin and what is changed, so these are stale.
            401 | 403 | 404 => self.checked.stale.push(format!("{response}")),
            _ => self.unavailable(response),
        }
        response.status == 200
    }

    pub(super) fn add(&mut self, other: Self) {
        self.checked.add(other.checked);
        self.confirmed_changes += other.confirmed_changes;
        self.unconfirmed_changes += other.unconfirmed_changes;
        self.unavailable += other.unavailable;
        self.epochs.extend(other.epochs);
    }
}

#[expect(
    clippy::print_stdout,
    reason = "the counts are the result of the long form"
)]
pub(super) fn report(all: &Outcome, lost: &[String]) {
    let Checked {
        unambiguous,
        concurrent,
        stale,
        ..
    } = &all.checked;
    for example in stale.iter().take(3).chain(lost.iter().take(3)) {
        println!("{example}");
    }
    println!(
        "{} users; {unambiguous} reads with one valid state, {concurrent} concurrent with a change, {} \
         stale; {} changes confirmed, {} unconfirmed, {} lost; {} requests without an answer",
        all.epochs.len(),
        stale.len(),
        all.confirmed_changes,
        all.unconfirmed_changes,
        lost.len(),
        all.unavailable
    );
}
