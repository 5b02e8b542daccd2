//! `doctor`: everything that would keep a program from working, at one look. What a service looks at
//! is its own; how it is said, and what all have alike, is here.

mod addresses;
mod clock;
mod secret_files;

pub use addresses::addresses;
pub use clock::clock;
pub use secret_files::secret_files;

use crate::{
    program::{Failure, print},
    settings::SettingError,
};

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    has_failed: bool,
    subject: &'static str,
    text: String,
}

impl Check {
    /// All is well with the subject, a word; `text` is a plain sentence and never a secret.
    pub fn ok(subject: &'static str, text: impl Into<String>) -> Self {
        Self { has_failed: false, subject, text: text.into() }
    }

    /// Something is wrong with it; the text says what would be right.
    pub fn failed(subject: &'static str, text: impl Into<String>) -> Self {
        Self { has_failed: true, subject, text: text.into() }
    }

    /// Whether something is wrong.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }
}

/// Whether what gRPC is encrypted with can be used; nothing where it is not encrypted.
pub fn certificate<T>(loaded: Result<Option<T>, SettingError>) -> Option<Check> {
    const SUBJECT: &str = "secrets";
    match loaded {
        Ok(Some(_)) => Some(Check::ok(SUBJECT, "the certificate of gRPC and its key can be used")),
        Ok(None) => None,
        Err(error) => Some(Check::failed(SUBJECT, error.to_string())),
    }
}

/// Prints a line for each finding; fails when one of them is wrong.
pub fn report(findings: &[Check]) -> Result<(), Failure> {
    for Check { has_failed, subject, text } in findings {
        let mark = if *has_failed { "WRONG" } else { "ok" };
        print(&format!("{mark:<6} {subject:<10} {text}"));
    }
    match findings.iter().filter(|finding| finding.has_failed).count() {
        0 => Ok(()),
        1 => Err(Failure::Other("1 thing is wrong".into())),
        count => Err(Failure::Other(format!("{count} things are wrong").into())),
    }
}
