//! Writes notes and questions for the operator to stderr, because stdout is only for results that
//! scripts read. Answers are read from stdin.

use std::io::{self, IsTerminal as _, Write as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Writes a line to stderr. An error is ignored, because an operator who has closed stderr does not
/// want the line.
pub(super) fn print_note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a question to stderr without a line end, so that the operator answers on the same line.
/// An error is ignored.
pub(super) fn print_prompt(question: &str) {
    let _ = write!(io::stderr(), "{question}");
}

/// Asks the operator to confirm a command that cannot be undone. Returns true only if the answer is
/// `y` or `yes`, in upper or lower case.
///
/// If stdin is not a terminal, nothing is asked and the result is true, because the script that
/// runs the command has already decided.
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
