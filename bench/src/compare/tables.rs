//! The results as people read them.

use super::{
    results::Results,
    turn::{Heat, Pace, Turn, Turns},
};
use crate::{
    cluster,
    report::{Block, Table, thousands},
    subject::YARDSTICK,
    users, verdict,
};

/// The whole report.
pub(crate) fn report(results: &Results, pace: Pace, machine: Vec<String>) -> Vec<Block> {
    let how = format!(
        "{} users and tokens, {} answers checked before. {} rounds in turns (A B B A), {} s each \
         after {} s of warm-up; medians over the rounds, and ratios of each round. One wrk thread \
         on the same machine makes the load and is part of it. PostgreSQL over TCP with its default \
         settings (fsync on, 128 MB of shared_buffers) but {}.",
        thousands(f64::from(u32::try_from(users::COUNT).unwrap_or(u32::MAX))),
        thousands(f64::from(u32::try_from(results.answers_checked).unwrap_or(u32::MAX))),
        pace.rounds,
        pace.seconds,
        pace.warm_up_seconds,
        cluster::SETTINGS,
    );
    let mut blocks = vec![
        Block::Heading("What must be reached".to_owned()),
        Block::Table(verdict::table(&results.verdicts())),
        Block::Heading("GET /profile".to_owned()),
        Block::Table(web_table(&results.profile)),
        Block::Heading("Decisions without HTTP, against PostgreSQL itself".to_owned()),
        Block::Table(rate_table(&results.decisions)),
        Block::Heading("Basic against bearer".to_owned()),
    ];
    blocks.push(match &results.basic {
        Some(heat) => Block::Table(web_table(std::slice::from_ref(heat))),
        None => Block::Paragraph(
            "Not measured: every Basic request costs a bcrypt (BASIC_CACHE_TTL_SECONDS is 0, or this \
             build does not remember)."
                .to_owned(),
        ),
    });
    blocks.push(Block::Heading("How, and on what".to_owned()));
    blocks.push(Block::Paragraph(how));
    blocks.push(Block::List(machine));
    blocks
}

fn web_table(heats: &[Heat]) -> Table {
    Table {
        head: vec![
            "System",
            "Connections",
            "requests/s",
            "Rounds",
            "to yardstick",
            "p50 µs",
            "p99 µs",
            "CPU µs per request",
        ],
        rows: rows(heats, |heat, contender| {
            let yardstick = heat.ratio(contender.name, YARDSTICK, |turn| turn.per_second);
            vec![
                yardstick.map_or_else(String::new, |ratio| format!("{:.2}×", ratio.median)),
                thousands(contender.spread(Turn::median_latency).median),
                thousands(contender.spread(Turn::p99_latency).median),
            ]
        }),
    }
}

fn rate_table(heats: &[Heat]) -> Table {
    Table {
        head: vec!["What", "Callers", "per second", "Rounds", "CPU µs per decision"],
        rows: rows(heats, |_, _| Vec::new()),
    }
}

fn rows(heats: &[Heat], more: impl Fn(&Heat, &Turns) -> Vec<String>) -> Vec<Vec<String>> {
    let rows = heats.iter().flat_map(|heat| heat.contenders.iter().map(move |one| (heat, one)));
    rows.map(|(heat, contender)| {
        let speed = contender.spread(|turn| turn.per_second);
        let mut row = vec![
            contender.name.to_owned(),
            heat.connections.to_string(),
            thousands(speed.median),
            format!("{} to {}", thousands(speed.least), thousands(speed.most)),
        ];
        row.extend(more(heat, contender));
        row.push(cpu(contender));
        row
    })
    .collect()
}

fn cpu(contender: &Turns) -> String {
    let parts = contender.cpu().into_iter().map(|(name, micros)| {
        // The name of a system of one process stands in its row already.
        if name == contender.name { format!("{micros:.1}") } else { format!("{name} {micros:.1}") }
    });
    parts.collect::<Vec<_>>().join(", ")
}
