//! Shows requests per second as a chart.

use super::{
    comparison::Comparison,
    round::{Round, Rounds},
};
use crate::{
    chart::{BLUE, Bar, Chart, GREY, Group},
    report::thousands,
    target::{ALL_IN_ONE, BASELINE, BATCHED_BASELINE, EMBEDDED, SPLIT},
};

/// The color of each system. The baselines are gray.
const COLOURS: [(&str, &str); 5] = [
    (BASELINE, GREY),
    (BATCHED_BASELINE, "#c4c8cc"),
    (SPLIT, BLUE),
    (ALL_IN_ONE, "#2da44e"),
    (EMBEDDED, "#7bc58e"),
];

/// Returns a chart of these comparisons, with the most connections first and a footer about the `machine`.
pub(crate) fn chart(comparisons: &[Comparison], machine: &str) -> Chart {
    let mut comparisons: Vec<&Comparison> = comparisons.iter().collect();
    comparisons.sort_by_key(|comparison| std::cmp::Reverse(comparison.connections));
    let groups = comparisons.into_iter().map(|comparison| Group {
        title: match comparison.connections {
            1 => "1 connection".to_owned(),
            several => format!("{several} connections"),
        },
        unit: "requests per second",
        bars: comparison.contenders.iter().map(bar).collect(),
    });
    Chart {
        title: "GET /profile: requests per second, live role from the database on each".to_owned(),
        label: "Requests per second on GET /profile".to_owned(),
        groups: groups.collect(),
        footer: format!(
            "Medians; thin lines from the slowest to the fastest round. {machine}; load generator on the \
             same machine."
        ),
    }
}

fn bar(contender: &Rounds) -> Bar {
    let value = contender.spread(|round: &Round| round.per_second);
    let name = contender.name;
    let colour = COLOURS
        .iter()
        .find(|(of, _)| *of == name)
        .map_or("#000000", |(_, it)| it);
    Bar {
        name: name.to_owned(),
        value,
        text: thousands(value.median),
        mark: None,
        colour,
    }
}
