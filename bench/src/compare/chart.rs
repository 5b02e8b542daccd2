//! Requests per second as an SVG bar chart with ranges.

use super::{
    comparison::Comparison,
    round::{Round, Rounds},
};
use crate::{
    report::thousands,
    target::{ALL_IN_ONE, BASELINE, BATCHED_BASELINE, EMBEDDED, SPLIT},
};
use std::fmt::Write as _;

const WIDTH: f64 = 800.0;
/// Left end of the bars; names are to their left.
const LEFT: f64 = 220.0;
/// Right end of the longest bar; numbers are to its right.
const RIGHT: f64 = 720.0;
const BAR: f64 = 20.0;
const STEP: f64 = 26.0;
const GROUP_GAP: f64 = 40.0;
const TOP: f64 = 66.0;

/// The baselines are grey.
const COLOURS: [(&str, &str); 5] = [
    (BASELINE, "#9aa0a6"),
    (BATCHED_BASELINE, "#c4c8cc"),
    (SPLIT, "#1f6feb"),
    (ALL_IN_ONE, "#2da44e"),
    (EMBEDDED, "#7bc58e"),
];

/// A chart of these comparisons, most connections first, with a footer about the `machine`.
pub(crate) fn chart(comparisons: &[Comparison], machine: &str) -> String {
    let mut comparisons: Vec<&Comparison> = comparisons.iter().collect();
    comparisons.sort_by_key(|comparison| std::cmp::Reverse(comparison.connections));
    let contenders = || comparisons.iter().flat_map(|comparison| &comparison.contenders);
    let most = contenders().map(|one| one.spread(speed).most).fold(1.0, f64::max);
    let scale = Scale { most };

    let mut drawing = String::new();
    let mut y = TOP;
    for comparison in &comparisons {
        let title = match comparison.connections {
            1 => "1 connection".to_owned(),
            several => format!("{several} connections"),
        };
        let _ = writeln!(drawing, r#"<text class="group" x="16" y="{y:.0}">{title}</text>"#);
        y += 12.0;
        for contender in &comparison.contenders {
            drawing += &bar(contender, y, &scale);
            y += STEP;
        }
        y += GROUP_GAP;
    }
    let height = y;
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0} {height:.0}" role="img" aria-label="Requests per second on GET /profile">
<style>
  text {{ font: 13px system-ui, sans-serif; fill: #1f2328 }}
  .title {{ font-size: 16px; font-weight: 600 }}
  .group {{ font-weight: 600 }}
  .name {{ text-anchor: end }}
  .small {{ font-size: 11px; fill: #59636e }}
  .spread {{ stroke: #1f2328; stroke-width: 1.2 }}
</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text class="title" x="16" y="28">GET /profile: requests per second, live role from the database on each</text>
{drawing}<text class="small" x="16" y="{foot:.0}">Medians; thin lines from the slowest to the fastest round. {machine}; load generator on the same machine.</text>
</svg>
"##,
        foot = height - 14.0,
    )
}

struct Scale {
    most: f64,
}

impl Scale {
    fn x(&self, speed: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * speed / self.most
    }
}

fn bar(contender: &Rounds, y: f64, scale: &Scale) -> String {
    let speed = contender.spread(speed);
    let colour =
        COLOURS.iter().find(|(name, _)| *name == contender.name).map_or("#000000", |(_, it)| it);
    let (name, number) = (contender.name, thousands(speed.median));
    let (end, least, most) = (scale.x(speed.median), scale.x(speed.least), scale.x(speed.most));
    let (width, middle) = (end - LEFT, y + BAR / 2.0);
    let (text_x, text_y, name_x) = (most.max(end) + 8.0, middle + 4.5, LEFT - 10.0);
    format!(
        r#"<text class="name" x="{name_x:.0}" y="{text_y:.1}">{name}</text>
<rect x="{LEFT:.0}" y="{y:.1}" width="{width:.1}" height="{BAR:.0}" rx="2" fill="{colour}"/>
<path class="spread" d="M{least:.1} {middle:.1}H{most:.1}"/>
<text x="{text_x:.1}" y="{text_y:.1}">{number}</text>
"#
    )
}

fn speed(round: &Round) -> f64 {
    round.per_second
}
