//! Prints the report on stdout, and progress on stderr.

use std::io::Write as _;

/// Prints a part of the report. A closed stdout is ignored.
pub(crate) fn print(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

/// Prints a progress message.
pub(crate) fn progress(text: &str) {
    let _ = writeln!(std::io::stderr(), "bench: {text}");
}
