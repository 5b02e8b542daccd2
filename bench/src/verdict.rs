//! Compares values with marks.

use crate::{report::Table, statistics::Spread};

/// A bound that a value should reach.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    AtLeast(f64),
    AtMost(f64),
}

/// A value and the mark that it should reach.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The name of the value in the table.
    pub(crate) claim: String,
    /// The value over all rounds.
    pub(crate) value: Spread,
    pub(crate) mark: Mark,
    /// The unit, such as `×` or ` ms`.
    pub(crate) unit: &'static str,
}

impl Verdict {
    /// Makes the verdict on a value that was measured once.
    pub(crate) fn once(claim: &str, value: f64, mark: Mark, unit: &'static str) -> Self {
        let value = Spread {
            least: value,
            median: value,
            most: value,
        };
        Self {
            claim: claim.to_owned(),
            value,
            mark,
            unit,
        }
    }

    fn is_reached(&self) -> bool {
        match self.mark {
            Mark::AtLeast(least) => self.value.median >= least,
            Mark::AtMost(most) => self.value.median <= most,
        }
    }

    fn row(&self) -> Vec<String> {
        let Self { value, unit, .. } = self;
        let mark = match self.mark {
            Mark::AtLeast(least) => format!("≥ {least}{unit}"),
            Mark::AtMost(most) => format!("≤ {most:.2}{unit}"),
        };
        let rounds = if value.least < value.most {
            format!("{:.2} to {:.2}", value.least, value.most)
        } else {
            String::new()
        };
        let reached = if self.is_reached() {
            "reached"
        } else {
            "missed"
        };
        let value = format!("{:.2}{unit}", value.median);
        vec![self.claim.clone(), value, rounds, mark, reached.to_owned()]
    }
}

/// Returns all verdicts as a table.
pub(crate) fn table(verdicts: &[Verdict]) -> Table {
    Table {
        head: vec!["What", "Median", "Rounds", "Mark", ""],
        rows: verdicts.iter().map(Verdict::row).collect(),
    }
}
