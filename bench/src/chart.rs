//! Draws bar charts with ranges and marks as SVG.

use crate::statistics::Spread;
use std::fmt::Write as _;

/// The color of bars that others are compared with.
pub(crate) const GREY: &str = "#9aa0a6";
/// The color of bars that are measured.
pub(crate) const BLUE: &str = "#1f6feb";

const WIDTH: f64 = 800.0;
/// The left end of the bars. Their names are to the left of it.
const LEFT: f64 = 220.0;
/// The right end of the longest bar. Its number is to the right of it.
const RIGHT: f64 = 720.0;
const BAR: f64 = 20.0;
const STEP: f64 = 26.0;
const GROUP_GAP: f64 = 40.0;
const TOP: f64 = 66.0;

/// A chart: groups of bars, from top to bottom.
#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// A description for people who cannot see the chart.
    pub(crate) label: String,
    pub(crate) groups: Vec<Group>,
    pub(crate) footer: String,
}

/// A group of bars below a title.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) title: String,
    /// Groups with the same unit have the same scale.
    pub(crate) unit: &'static str,
    pub(crate) bars: Vec<Bar>,
}

/// A bar that ends at the median, with a thin line over the range.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: Spread,
    /// The value as text, to the right of the bar.
    pub(crate) text: String,
    /// A bound for the value, which is shown as a red line.
    pub(crate) mark: Option<f64>,
    pub(crate) colour: &'static str,
}

impl Bar {
    /// Makes a bar of a value that was measured once.
    pub(crate) fn once(name: &str, value: f64, text: String) -> Self {
        let value = Spread {
            least: value,
            median: value,
            most: value,
        };
        Self {
            name: name.to_owned(),
            value,
            text,
            mark: None,
            colour: BLUE,
        }
    }

    fn most(&self) -> f64 {
        self.mark
            .map_or(self.value.most, |mark| mark.max(self.value.most))
    }
}

impl Chart {
    /// Returns the chart as SVG.
    pub(crate) fn svg(&self) -> String {
        let mut drawing = String::new();
        let mut y = TOP;
        for group in &self.groups {
            let title = &group.title;
            let _ = writeln!(
                drawing,
                r#"<text class="group" x="16" y="{y:.0}">{title}</text>"#
            );
            y += 12.0;
            let scale = self.scale(group.unit);
            for bar in &group.bars {
                drawing += &draw(bar, y, &scale);
                y += STEP;
            }
            y += GROUP_GAP;
        }
        let (height, foot) = (y, y - 14.0);
        let Self {
            title,
            label,
            footer,
            ..
        } = self;
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0} {height:.0}" role="img" aria-label="{label}">
<style>
  text {{ font: 13px system-ui, sans-serif; fill: #1f2328 }}
  .title {{ font-size: 16px; font-weight: 600 }}
  .group {{ font-weight: 600 }}
  .name {{ text-anchor: end }}
  .small {{ font-size: 11px; fill: #59636e }}
  .spread {{ stroke: #1f2328; stroke-width: 1.2 }}
  .mark {{ stroke: #cf222e; stroke-width: 2 }}
</style>
<rect width="100%" height="100%" fill="#ffffff"/>
<text class="title" x="16" y="28">{title}</text>
{drawing}<text class="small" x="16" y="{foot:.0}">{footer}</text>
</svg>
"##
        )
    }

    fn scale(&self, unit: &str) -> Scale {
        let groups = self.groups.iter().filter(|group| group.unit == unit);
        let most = groups
            .flat_map(|group| &group.bars)
            .map(Bar::most)
            .fold(0.0, f64::max);
        Scale {
            most: if most > 0.0 { most } else { 1.0 },
        }
    }
}

struct Scale {
    most: f64,
}

impl Scale {
    fn x(&self, value: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * value / self.most
    }
}

fn draw(bar: &Bar, y: f64, scale: &Scale) -> String {
    let Bar {
        name,
        value,
        text,
        colour,
        ..
    } = bar;
    let (end, least, most) = (
        scale.x(value.median),
        scale.x(value.least),
        scale.x(value.most),
    );
    let (width, middle) = (end - LEFT, y + BAR / 2.0);
    let mark = bar.mark.map(|mark| scale.x(mark));
    let right = mark.unwrap_or(end).max(most);
    let (text_x, text_y, name_x) = (right + 8.0, middle + 4.5, LEFT - 10.0);
    let mark = mark.map_or_else(String::new, |x| {
        let (above, below) = (y - 2.0, y + BAR + 2.0);
        format!("<path class=\"mark\" d=\"M{x:.1} {above:.1}V{below:.1}\"/>\n")
    });
    format!(
        r#"<text class="name" x="{name_x:.0}" y="{text_y:.1}">{name}</text>
<rect x="{LEFT:.0}" y="{y:.1}" width="{width:.1}" height="{BAR:.0}" rx="2" fill="{colour}"/>
<path class="spread" d="M{least:.1} {middle:.1}H{most:.1}"/>
{mark}<text x="{text_x:.1}" y="{text_y:.1}">{text}</text>
"#
    )
}

#[cfg(test)]
mod tests {
    use super::{Bar, Chart, GREY, Group};
    use crate::statistics::spread;

    fn chart() -> String {
        let latency = |name: &str, value, mark| Bar {
            mark,
            ..Bar::once(name, value, "-".into())
        };
        let speed = |median| Bar {
            value: spread([median / 2.0, median, median * 2.0]),
            colour: GREY,
            ..Bar::once("speed", median, format!("{median} per second"))
        };
        let group = |title: &str, unit, bars| Group {
            title: title.to_owned(),
            unit,
            bars,
        };
        let chart = Chart {
            title: "a title".to_owned(),
            label: "a label".to_owned(),
            groups: vec![
                group(
                    "times",
                    "ms",
                    vec![latency("p50", 1.0, None), latency("p99", 2.0, Some(5.0))],
                ),
                group("32 callers", "per second", vec![speed(100.0)]),
                group("128 callers", "per second", vec![speed(200.0)]),
            ],
            footer: "a machine".to_owned(),
        };
        chart.svg()
    }

    #[test]
    fn bars_of_one_unit_share_a_scale_that_the_longest_range_or_mark_fills() {
        let svg = chart();
        let widths = svg.lines().filter_map(|line| {
            line.strip_prefix("<rect x=\"220\"")?
                .split("width=\"")
                .nth(1)?
                .split('"')
                .next()
        });
        assert_eq!(
            widths.collect::<Vec<_>>(),
            ["100.0", "200.0", "125.0", "250.0"],
            "{svg}"
        );
        assert!(
            svg.contains(r#"<path class="mark" d="M720.0 102.0V126.0"/>"#),
            "{svg}"
        );
        assert!(
            svg.contains(r#"<path class="spread" d="M345.0 270.0H720.0"/>"#),
            "{svg}"
        );
    }

    #[test]
    fn every_title_name_and_value_is_shown() {
        let svg = chart();
        for text in [
            "a title",
            "times",
            "p50",
            "p99",
            "128 callers",
            "200 per second",
            "a machine",
        ] {
            assert!(
                svg.contains(&format!(">{text}</text>")),
                "{text} is not in {svg}"
            );
        }
        assert!(svg.contains(r#"aria-label="a label""#));
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
    }
}
