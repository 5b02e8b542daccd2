//! What the flood has shown, and what must be reached.

use super::{
    logins::{Capacity, Lone},
    open_loop::Answered,
};
use crate::{
    report::{Block, Table, thousands},
    statistics::{mebibytes, millis, percentile, rate_of_ends},
    verdict::{self, Target, Verdict},
};
use http::StatusCode;
use std::time::Duration;

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) lone: Lone,
    /// Logins per second, when just as many come as can be done.
    pub(crate) capacity: Capacity,
    /// The same while `/profile` is asked for as in the flood.
    pub(crate) capacity_beside_profiles: f64,
    /// `/profile` without logins.
    pub(crate) calm: Vec<Answered>,
    /// How many processors each program kept busy meanwhile.
    pub(crate) calm_processors: Vec<(&'static str, f64)>,
    /// `/profile` during the flood.
    pub(crate) flooded: Vec<Answered>,
    /// How many processors each program kept busy meanwhile.
    pub(crate) flood_processors: Vec<(&'static str, f64)>,
    /// The flood.
    pub(crate) logins: Vec<Answered>,
    /// How long it lasted.
    pub(crate) time: Duration,
    /// Bytes by which the memory of each process grew from rest to its peak in the flood.
    pub(crate) growth: Vec<(&'static str, u64)>,
}

impl Results {
    fn verdicts(&self) -> Vec<Verdict> {
        let (calm, flooded) = (p99(&self.calm, is_ok), p99(&self.flooded, is_ok));
        let lone = Verdict {
            claim: "lone login over HTTP / one hash of the bcrypt crate".to_owned(),
            value: self.lone.ratio,
            target: Target::AtMost(1.03),
            unit: "×",
        };
        let engine = Verdict {
            claim: "logins/s over HTTP / hashes/s of the engine alone".to_owned(),
            value: self.capacity.ratio,
            target: Target::AtLeast(0.93),
            unit: "×",
        };
        let once = Verdict::once;
        let at_most = (2.0 * calm).max(10.0);
        let refused = p99(&self.logins, is_refusal);
        let mut verdicts = vec![
            lone,
            engine,
            once("/profile p99 in the flood", flooded, Target::AtMost(at_most), " ms"),
            once(
                "logins completed in the flood / capacity",
                self.completed_per_second() / self.capacity.logins.median,
                Target::AtLeast(0.9),
                "×",
            ),
            once(
                "the same / capacity beside the same /profile",
                self.completed_per_second() / self.capacity_beside_profiles,
                Target::AtLeast(0.9),
                "×",
            ),
            once("refused logins, p99", refused, Target::AtMost(20.0), " ms"),
        ];
        verdicts.extend(self.growth.iter().map(|(name, bytes)| {
            let claim = format!("growth of memory of {name}");
            once(&claim, mebibytes(*bytes), Target::AtMost(32.0), " MiB")
        }));
        verdicts
    }

    fn completed_per_second(&self) -> f64 {
        let in_time = self.logins.iter().filter(|login| is_ok(login) && login.at <= self.time);
        rate_of_ends(in_time.map(|login| login.at).collect())
    }

    /// The whole report.
    pub(crate) fn report(&self, how: String, machine: Vec<String>) -> Vec<Block> {
        let head = vec!["Requests", "sent", "p50 ms", "p99 ms", "most ms"];
        let rows = vec![
            row("GET /profile, calm, 200", &self.calm, is_ok),
            row("GET /profile, flooded, 200", &self.flooded, is_ok),
            row("GET /profile, calm or flooded, not 200", &self.profiles(), |one| !is_ok(one)),
            row("POST /login, 200", &self.logins, is_ok),
            row("POST /login, 503 or 429", &self.logins, is_refusal),
            row("of these after more than a second", &self.logins, is_late_refusal),
            row("POST /login, anything else", &self.logins, |one| !is_ok(one) && !is_refusal(one)),
        ];
        let rest = format!(
            "A lone login takes {:.1} ms, one hash {:.1} ms. {:.1} logins/s can be done, {:.1} beside \
             /profile, {:.1} hashes/s by the engine alone; in the flood {:.1} logins/s were done.",
            self.lone.login.median * 1e3,
            self.lone.hash.median * 1e3,
            self.capacity.logins.median,
            self.capacity_beside_profiles,
            self.capacity.engine.median,
            self.completed_per_second(),
        );
        vec![
            Block::Heading("What must be reached in a flood of logins".to_owned()),
            Block::Table(verdict::table(&self.verdicts())),
            Block::Heading("What was sent and answered".to_owned()),
            Block::Table(Table { head, rows }),
            Block::Paragraph(rest),
            Block::Heading("Processors kept busy".to_owned()),
            Block::Table(self.processors()),
            Block::Heading("How, and on what".to_owned()),
            Block::Paragraph(how),
            Block::List(machine),
        ]
    }

    fn processors(&self) -> Table {
        let both = self.calm_processors.iter().zip(&self.flood_processors);
        let row = |(name, calm): &(&str, f64), flood: f64| {
            vec![(*name).to_owned(), format!("{calm:.2}"), format!("{flood:.2}")]
        };
        Table {
            head: vec!["by", "calm", "in the flood"],
            rows: both.map(|(calm, (_, flood))| row(calm, *flood)).collect(),
        }
    }

    fn profiles(&self) -> Vec<Answered> {
        [&self.calm[..], &self.flooded].concat()
    }
}

fn is_ok(answered: &Answered) -> bool {
    answered.status == Some(StatusCode::OK)
}

fn is_refusal(answered: &Answered) -> bool {
    let refusals = [StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
    answered.status.is_some_and(|status| refusals.contains(&status))
}

/// It had waited for its turn, and was sent away all the same.
fn is_late_refusal(answered: &Answered) -> bool {
    is_refusal(answered) && answered.latency > Duration::from_secs(1)
}

fn latencies(answers: &[Answered], is_meant: impl Fn(&Answered) -> bool) -> Vec<Duration> {
    answers.iter().filter(|one| is_meant(one)).map(|one| one.latency).collect()
}

fn p99(answers: &[Answered], is_meant: impl Fn(&Answered) -> bool) -> f64 {
    millis(percentile(&latencies(answers, is_meant), 99))
}

fn row(name: &str, answers: &[Answered], is_meant: impl Fn(&Answered) -> bool) -> Vec<String> {
    let latencies = latencies(answers, is_meant);
    let count = f64::from(u32::try_from(latencies.len()).unwrap_or(u32::MAX));
    let mut row = vec![name.to_owned(), thousands(count)];
    row.extend([50, 99, 100].map(|percent| match latencies.len() {
        0 => String::new(),
        _ => format!("{:.2}", millis(percentile(&latencies, percent))),
    }));
    row
}
