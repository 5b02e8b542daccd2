//! What must be reached, and whether it was.

use crate::{report::Table, statistics::Spread};

/// Where a value must lie.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
}

/// One value against its target.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// What was compared with what.
    pub(crate) claim: String,
    /// Of all rounds.
    pub(crate) value: Spread,
    pub(crate) target: Target,
    /// What follows the number: `×`, ` MiB`, ` ms`.
    pub(crate) unit: &'static str,
}

impl Verdict {
    /// Of a value that was measured once.
    pub(crate) fn once(claim: &str, value: f64, target: Target, unit: &'static str) -> Self {
        let value = Spread { least: value, median: value, most: value };
        Self { claim: claim.to_owned(), value, target, unit }
    }

    fn is_reached(&self) -> bool {
        match self.target {
            Target::AtLeast(least) => self.value.median >= least,
            Target::AtMost(most) => self.value.median <= most,
        }
    }

    fn row(&self) -> Vec<String> {
        let Self { value, unit, .. } = self;
        let target = match self.target {
            Target::AtLeast(least) => format!("≥ {least}{unit}"),
            Target::AtMost(most) => format!("≤ {most:.2}{unit}"),
        };
        let rounds = if value.least < value.most {
            format!("{:.2} to {:.2}", value.least, value.most)
        } else {
            String::new()
        };
        let reached = if self.is_reached() { "reached" } else { "missed" };
        let value = format!("{:.2}{unit}", value.median);
        vec![self.claim.clone(), value, rounds, target, reached.to_owned()]
    }
}

/// All of them.
pub(crate) fn table(verdicts: &[Verdict]) -> Table {
    Table {
        head: vec!["What", "Median", "Rounds", "Target", ""],
        rows: verdicts.iter().map(Verdict::row).collect(),
    }
}
