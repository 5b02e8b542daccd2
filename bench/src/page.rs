//! Writes the page of a benchmark, with its chart.

use crate::{
    chart::Chart,
    machine::first_line,
    report::{self, Block},
};
use std::{io, path::Path, process::Command};

/// Writes `performance-NAME.md` and, with a chart, `performance-NAME.svg` into the folder.
pub(crate) fn write(
    folder: &Path,
    name: &str,
    chart: Option<&Chart>,
    blocks: &[Block],
) -> io::Result<()> {
    let page = format!("performance-{name}");
    let mut parts = vec![measured(&format!("bench/run {name} --write"))];
    if let Some(chart) = chart {
        parts.push(format!("![{}]({page}.svg)", chart.label));
        report::write(&folder.join(format!("{page}.svg")), &chart.svg())?;
    }
    parts.push(report::markdown(blocks));
    let text = parts.join("\n\n");
    report::write(&folder.join(format!("{page}.md")), &text)
}

/// Returns a sentence that says when the results were measured, at which commit and by which command.
pub(crate) fn measured(command: &str) -> String {
    let day = first_line(Command::new("date").arg("-I"));
    let commit = first_line(Command::new("git").args(["rev-parse", "--short", "HEAD"]));
    format!("Measured on {day} at commit {commit} by `{command}`.")
}

#[cfg(test)]
mod tests {
    use super::write;
    use crate::{
        chart::{Bar, Chart, Group},
        report::Block,
    };

    #[test]
    fn a_page_says_when_it_was_measured_and_shows_its_chart() {
        let folder = tempfile::tempdir().expect("a folder");
        let bars = vec![Bar::once("p99", 2.0, "2 ms".to_owned())];
        let chart = Chart {
            title: "a title".to_owned(),
            label: "a label".to_owned(),
            groups: vec![Group {
                title: "times".to_owned(),
                unit: "ms",
                bars,
            }],
            footer: String::new(),
        };
        let blocks = [Block::Heading("Marks".to_owned())];
        write(folder.path(), "checks", Some(&chart), &blocks).expect("written");
        write(folder.path(), "pages", None, &blocks).expect("written");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        let page = read("performance-checks.md");
        let by =
            "by `bench/run checks --write`.\n\n![a label](performance-checks.svg)\n\n## Marks\n";
        assert!(
            page.starts_with("Measured on 20") && page.ends_with(by),
            "{page}"
        );
        assert_eq!(read("performance-checks.svg"), chart.svg());
        let page = read("performance-pages.md");
        assert!(
            page.ends_with("by `bench/run pages --write`.\n\n## Marks\n"),
            "{page}"
        );
    }
}
