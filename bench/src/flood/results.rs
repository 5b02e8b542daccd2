//! All measurements of the flood, and their marks.

use super::logins::{Capacity, Lone};
use crate::{
    open_loop::Completed,
    report::{Block, Table, thousands},
    statistics::{completion_rate, mebibytes, millis, percentile},
    verdict::{self, Mark, Verdict},
};
use http::StatusCode;
use std::time::Duration;

/// All measurements of one run.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) lone: Lone,
    /// The capacity of logins in a closed loop.
    pub(crate) capacity: Capacity,
    /// The logins per second in a closed loop beside the `/profile` load.
    pub(crate) capacity_beside_profiles: f64,
    /// The requests for `/profile` without logins.
    pub(crate) calm: Vec<Completed>,
    /// The number of CPUs that each program used while there were no logins.
    pub(crate) calm_cpu_usage: Vec<(&'static str, f64)>,
    /// The requests for `/profile` during the flood.
    pub(crate) flooded: Vec<Completed>,
    /// The number of CPUs that each program used during the flood.
    pub(crate) flood_cpu_usage: Vec<(&'static str, f64)>,
    /// The logins of the flood.
    pub(crate) logins: Vec<Completed>,
    /// The duration of the flood.
    pub(crate) time: Duration,
    /// The growth of each process's memory from idle to peak, in bytes.
    pub(crate) growth: Vec<(&'static str, u64)>,
}

impl Results {
    fn verdicts(&self) -> Vec<Verdict> {
        let (calm, flooded) = (p99(&self.calm, is_ok), p99(&self.flooded, is_ok));
        let lone = Verdict {
            claim: "lone login over HTTP / one hash of the bcrypt crate".to_owned(),
            value: self.lone.ratio,
            mark: Mark::AtMost(1.03),
            unit: "×",
        };
        let engine = Verdict {
            claim: "logins/s over HTTP / hashes/s of the engine alone".to_owned(),
            value: self.capacity.ratio,
            mark: Mark::AtLeast(0.93),
            unit: "×",
        };
        let once = Verdict::once;
        let at_most = (2.0 * calm).max(10.0);
        let refused = p99(&self.logins, is_refusal);
        let mut verdicts = vec![
            lone,
            engine,
            once(
                "/profile p99 in the flood",
                flooded,
                Mark::AtMost(at_most),
                " ms",
            ),
            once(
                "logins completed in the flood / capacity",
                self.completed_per_second() / self.capacity.logins.median,
                Mark::AtLeast(0.9),
                "×",
            ),
            once(
                "the same / capacity beside the same /profile",
                self.completed_per_second() / self.capacity_beside_profiles,
                Mark::AtLeast(0.9),
                "×",
            ),
            once("refused logins, p99", refused, Mark::AtMost(20.0), " ms"),
        ];
        verdicts.extend(self.growth.iter().map(|(name, bytes)| {
            let claim = format!("growth of memory of {name}");
            once(&claim, mebibytes(*bytes), Mark::AtMost(32.0), " MiB")
        }));
        verdicts
    }

    fn completed_per_second(&self) -> f64 {
        let in_time = self
            .logins
            .iter()
            .filter(|login| is_ok(login) && login.at <= self.time);
        completion_rate(in_time.map(|login| login.at).collect())
    }

    /// Returns the whole report.
    pub(crate) fn report(&self, how: String, machine: Vec<String>) -> Vec<Block> {
        let head = vec!["Requests", "sent", "p50 ms", "p99 ms", "max ms"];
        let rows = vec![
            row("GET /profile, calm, 200", &self.calm, is_ok),
            row("GET /profile, flooded, 200", &self.flooded, is_ok),
            row(
                "GET /profile, calm or flooded, not 200",
                &self.profiles(),
                |one| !is_ok(one),
            ),
            row("POST /login, 200", &self.logins, is_ok),
            row("POST /login, 503 or 429", &self.logins, is_refusal),
            row(
                "of these after more than a second",
                &self.logins,
                is_late_refusal,
            ),
            row("POST /login, anything else", &self.logins, |one| {
                !is_ok(one) && !is_refusal(one)
            }),
        ];
        let rest = format!(
            "A single login takes {:.1} ms, one hash {:.1} ms. The capacity is {:.1} logins/s, {:.1} beside \
             /profile, and {:.1} hashes/s of the engine alone; {:.1} logins/s complete in the flood.",
            self.lone.login.median * 1e3,
            self.lone.hash.median * 1e3,
            self.capacity.logins.median,
            self.capacity_beside_profiles,
            self.capacity.engine.median,
            self.completed_per_second(),
        );
        vec![
            Block::Heading("Marks in a login flood".to_owned()),
            Block::Table(verdict::table(&self.verdicts())),
            Block::Heading("Requests and responses".to_owned()),
            Block::Table(Table { head, rows }),
            Block::Paragraph(rest),
            Block::Heading("CPUs in use".to_owned()),
            Block::Table(self.cpu_table()),
            Block::Heading("Method and machine".to_owned()),
            Block::Paragraph(how),
            Block::List(machine),
        ]
    }

    fn cpu_table(&self) -> Table {
        let both = self.calm_cpu_usage.iter().zip(&self.flood_cpu_usage);
        let row = |(name, calm): &(&str, f64), flood: f64| {
            vec![
                (*name).to_owned(),
                format!("{calm:.2}"),
                format!("{flood:.2}"),
            ]
        };
        Table {
            head: vec!["by", "calm", "in the flood"],
            rows: both.map(|(calm, (_, flood))| row(calm, *flood)).collect(),
        }
    }

    fn profiles(&self) -> Vec<Completed> {
        [&self.calm[..], &self.flooded].concat()
    }
}

fn is_ok(answered: &Completed) -> bool {
    answered.outcome == Some(StatusCode::OK)
}

fn is_refusal(answered: &Completed) -> bool {
    let refusals = [
        StatusCode::SERVICE_UNAVAILABLE,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    answered
        .outcome
        .is_some_and(|status| refusals.contains(&status))
}

/// Returns `true` for a login that was refused only after it had waited in the queue.
fn is_late_refusal(answered: &Completed) -> bool {
    is_refusal(answered) && answered.latency > Duration::from_secs(1)
}

fn latencies(answers: &[Completed], matches: impl Fn(&Completed) -> bool) -> Vec<Duration> {
    answers
        .iter()
        .filter(|one| matches(one))
        .map(|one| one.latency)
        .collect()
}

fn p99(answers: &[Completed], matches: impl Fn(&Completed) -> bool) -> f64 {
    millis(percentile(&latencies(answers, matches), 99))
}

fn row(name: &str, answers: &[Completed], matches: impl Fn(&Completed) -> bool) -> Vec<String> {
    let latencies = latencies(answers, matches);
    let count = f64::from(u32::try_from(latencies.len()).unwrap_or(u32::MAX));
    let mut row = vec![name.to_owned(), thousands(count)];
    row.extend([50, 99, 100].map(|percent| match latencies.len() {
        0 => String::new(),
        _ => format!("{:.2}", millis(percentile(&latencies, percent))),
    }));
    row
}
