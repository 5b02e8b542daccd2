//! Shows the results as tables.

use super::{
    comparison::Comparison,
    results::Results,
    round::{Round, Rounds, Schedule},
};
use crate::{
    cluster,
    report::{Block, Table, thousands},
    target::BASELINE,
    users, verdict,
};

/// Returns the whole report.
pub(crate) fn report(results: &Results, schedule: Schedule, machine: Vec<String>) -> Vec<Block> {
    let how = format!(
        "{} users and tokens, {} responses verified first. {} alternating rounds (A B B A) of {} s after \
         {} s of warm-up; medians over the rounds, ratios per round. One wrk thread generates the load \
         on the same machine. PostgreSQL over TCP with default settings (fsync on, 128 MB of \
         shared_buffers) except {}.",
        thousands(f64::from(u32::try_from(users::COUNT).unwrap_or(u32::MAX))),
        thousands(f64::from(
            u32::try_from(results.verified_responses).unwrap_or(u32::MAX)
        )),
        schedule.rounds,
        schedule.seconds,
        schedule.warm_up_seconds,
        cluster::SETTINGS,
    );
    let mut blocks = vec![
        Block::Heading("Marks".to_owned()),
        Block::Table(verdict::table(&results.verdicts())),
        Block::Heading("GET /profile".to_owned()),
        Block::Table(web_table(&results.profile)),
        Block::Heading("Decisions without HTTP, relative to PostgreSQL alone".to_owned()),
        Block::Table(rate_table(&results.decisions)),
        Block::Heading("DATABASE_READS, with a synchronous standby on this machine".to_owned()),
        Block::Table(web_table(std::slice::from_ref(&results.reads))),
        Block::Heading("Basic relative to bearer".to_owned()),
    ];
    blocks.push(match &results.basic {
        Some(comparison) => Block::Table(web_table(std::slice::from_ref(comparison))),
        None => Block::Paragraph(
            "Not measured: every Basic request costs a bcrypt (BASIC_CACHE_TTL_SECONDS is 0, or this \
             build does not remember)."
                .to_owned(),
        ),
    });
    blocks.push(Block::Heading("Method and machine".to_owned()));
    blocks.push(Block::Paragraph(how));
    blocks.push(Block::List(machine));
    blocks
}

fn web_table(comparisons: &[Comparison]) -> Table {
    Table {
        head: vec![
            "System",
            "Connections",
            "requests/s",
            "to baseline",
            "p50 µs",
            "p99 µs",
            "CPU µs per request",
        ],
        rows: rows(comparisons, |comparison, contender| {
            let baseline = comparison.ratio(contender.name, BASELINE, |round| round.per_second);
            vec![
                baseline.map_or_else(String::new, |ratio| format!("{:.2}×", ratio.median)),
                thousands(contender.spread(Round::median_latency).median),
                thousands(contender.spread(Round::p99_latency).median),
            ]
        }),
    }
}

fn rate_table(comparisons: &[Comparison]) -> Table {
    Table {
        head: vec!["What", "Callers", "per second", "CPU µs per decision"],
        rows: rows(comparisons, |_, _| Vec::new()),
    }
}

fn rows(
    comparisons: &[Comparison],
    more: impl Fn(&Comparison, &Rounds) -> Vec<String>,
) -> Vec<Vec<String>> {
    let rows = comparisons.iter().flat_map(|comparison| {
        comparison
            .contenders
            .iter()
            .map(move |one| (comparison, one))
    });
    rows.map(|(comparison, contender)| {
        let mut row = vec![
            contender.name.to_owned(),
            comparison.connections.to_string(),
            thousands(contender.spread(|round| round.per_second).median),
        ];
        row.extend(more(comparison, contender));
        row.push(cpu(contender));
        row
    })
    .collect()
}

fn cpu(contender: &Rounds) -> String {
    let parts = contender.cpu().into_iter().map(|(name, micros)| {
        // The row of a system with one process already has its name.
        if name == contender.name {
            format!("{micros:.1}")
        } else {
            format!("{name} {micros:.1}")
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}
