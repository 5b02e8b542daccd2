//! What the person who started this reads: the report on stdout, what is going on on stderr.

use std::io::Write as _;

/// A line (or many) of the report. A closed stdout is no error.
pub(crate) fn say(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = writeln!(stdout, "{text}");
    let _ = stdout.flush();
}

/// What is being done now.
pub(crate) fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "load: {text}");
}
