//! Talks with the operator beside the outcome, which is on stdout for scripts.

use std::io::{self, IsTerminal as _, Write as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Writes a line to stderr. An operator who closed it does not want to know.
pub(super) fn print_note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a question to stderr; the answer follows on the same line.
pub(super) fn print_prompt(question: &str) {
    let _ = write!(io::stderr(), "{question}");
}

/// Asks before a command that cannot be undone. Without a terminal, a script runs the command and means it.
pub(super) async fn confirm(question: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(true);
    }
    print_prompt(&format!("{question} [y/N] "));
    let mut answer = String::new();
    BufReader::new(tokio::io::stdin())
        .read_line(&mut answer)
        .await?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(answer == "y" || answer == "yes")
}
