//! Shows the results as a table and a chart.

use super::load::Profiles;
use crate::{
    chart::{BLUE, Bar, Chart, GREY, Group},
    report::{Table, thousands},
    statistics::Spread,
};

/// All measurements. The services come first.
pub(super) struct Results {
    pub(super) names: [&'static str; 3],
    /// The profiles for each number of [`super::CONNECTIONS`].
    pub(super) profiles: Vec<Profiles>,
    /// The logins per second.
    pub(super) logins: Vec<Spread>,
}

impl Results {
    pub(super) fn table(&self) -> Table {
        let row = |index: usize| {
            let speeds = self.profiles.iter().rev();
            let mut row = vec![self.names[index].to_owned()];
            row.extend(speeds.map(|at| thousands(at.per_second[index].median)));
            let most = self.profiles.first().map(|at| at.p99_millis[index].median);
            row.push(most.map_or_else(String::new, |p99| format!("{p99:.1} ms")));
            row.push(format!("{:.1}", self.logins[index].median));
            row
        };
        Table {
            head: vec![
                "Per second",
                "1 connection",
                "32 connections",
                "128 connections",
                "p99 at 128",
                "logins",
            ],
            rows: (0..self.names.len()).map(row).collect(),
        }
    }

    pub(super) fn chart(&self, machine: &str) -> Chart {
        let group = |title: String, unit, values: &[Spread], text: &dyn Fn(f64) -> String| {
            let bars = self.names.iter().zip(values).enumerate();
            let bars = bars.map(|(index, (name, value))| Bar {
                name: (*name).to_owned(),
                value: *value,
                text: text(value.median),
                mark: None,
                colour: if index == 0 { BLUE } else { GREY },
            });
            Group {
                title,
                unit,
                bars: bars.collect(),
            }
        };
        let mut groups: Vec<_> = self
            .profiles
            .iter()
            .filter(|at| at.connections > 1)
            .map(|at| {
                let title = format!("GET /profile, {} connections", at.connections);
                group(title, "requests per second", &at.per_second, &thousands)
            })
            .collect();
        let text = |value| format!("{value:.1}");
        groups.push(group(
            "Logins, bcrypt of cost 12".to_owned(),
            "logins",
            &self.logins,
            &text,
        ));
        Chart {
            title: "The same accounts on FastAPI and better-auth: requests per second".to_owned(),
            label: "Requests and logins per second of each system".to_owned(),
            groups,
            footer: format!(
                "Medians; thin lines from the slowest to the fastest round. {machine}; load generator and \
                 PostgreSQL on the same machine."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::load::Profiles, Results};
    use crate::{
        report::{Block, markdown},
        statistics::spread,
    };

    #[test]
    fn the_table_and_the_chart_show_every_system() {
        let spreads = |values: [f64; 3]| values.map(|value| spread([value])).to_vec();
        let at = |connections, factor: f64| Profiles {
            connections,
            per_second: spreads([9000.0, 3000.0, 1000.0].map(|value| value * factor)),
            p99_millis: spreads([4.0, 50.0, 60.0]),
        };
        let results = Results {
            names: ["ours", "FastAPI", "better-auth"],
            profiles: vec![at(128, 5.0), at(32, 3.0), at(1, 0.1)],
            logins: spreads([30.0, 8.0, 7.5]),
        };
        let page = markdown(&[Block::Table(results.table())]);
        assert!(
            page.contains("| ours | 900 | 27,000 | 45,000 | 4.0 ms | 30.0 |"),
            "{page}"
        );
        assert!(
            page.contains("| better-auth | 100 | 3,000 | 5,000 | 60.0 ms | 7.5 |"),
            "{page}"
        );
        let svg = results.chart("machine").svg();
        for text in ["GET /profile, 32 connections", "45,000", "FastAPI", "7.5"] {
            assert!(
                svg.contains(&format!(">{text}</text>")),
                "{text} is not in {svg}"
            );
        }
    }
}
