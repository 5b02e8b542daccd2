//! The question before a command that cannot be undone.

use super::new_password::prompt;
use std::io::{self, IsTerminal as _};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Asks at the terminal. Without one, a script runs the command and means it.
pub(super) async fn is_given(question: &str) -> io::Result<bool> {
    if !io::stdin().is_terminal() {
        return Ok(true);
    }
    prompt(&format!("{question} [y/N] "));
    let mut answer = String::new();
    BufReader::new(tokio::io::stdin())
        .read_line(&mut answer)
        .await?;
    let answer = answer.trim().to_ascii_lowercase();
    Ok(answer == "y" || answer == "yes")
}
