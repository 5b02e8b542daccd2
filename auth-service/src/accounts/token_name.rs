//! The rules for the names of new API keys and sessions.

use super::error::AccountError;
use crate::tokens::TokenKind;
use rolegate_proto::{Reason, has_blank};

/// Checks the name of a new token. It must have 1 to 100 characters, fit on one line, and contain
/// no white space or invisible characters that make it look like another name.
pub(crate) fn check_name(kind: TokenKind, name: &str) -> Result<(), AccountError> {
    let broken = if name.is_empty() || name.chars().nth(100).is_some() {
        "have 1 to 100 characters"
    } else if name.chars().any(char::is_control) {
        "not contain control characters"
    } else if name.trim() != name {
        "not begin or end with white space"
    } else if has_blank(name) {
        "not contain invisible or unassigned characters"
    } else {
        return Ok(());
    };
    Err(match kind {
        TokenKind::ApiKey => AccountError::invalid(
            Reason::ApiKeyInvalid,
            format!("API key name must {broken}."),
        ),
        TokenKind::Session => AccountError::invalid(
            Reason::SessionInvalid,
            format!("Session name must {broken}."),
        ),
    })
}
