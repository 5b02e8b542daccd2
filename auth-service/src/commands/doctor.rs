//! `auth-service doctor`: everything that would keep this auth-service from working, at one look.
//! Changes nothing, and goes on after what is wrong.

mod addresses;
mod clock;
mod database;
mod secrets;

use crate::settings::Settings;
use service_runtime::{
    program::{Failure, say},
    settings::SettingError,
};

/// What one check found.
#[derive(Debug, PartialEq, Eq)]
struct Finding {
    verdict: Verdict,
    /// What was looked at: a word.
    subject: &'static str,
    /// A plain sentence; never a secret.
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Wrong,
}

fn good(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { verdict: Verdict::Good, subject, text: text.into() }
}

fn wrong(subject: &'static str, text: impl Into<String>) -> Finding {
    Finding { verdict: Verdict::Wrong, subject, text: text.into() }
}

/// Prints a line for each check; fails when one found something wrong.
pub(super) async fn run(settings: &Settings, unread: &[SettingError]) -> Result<(), Failure> {
    let mut findings: Vec<Finding> =
        unread.iter().map(|error| wrong("settings", error.to_string())).collect();
    if unread.is_empty() {
        findings.push(good("settings", "flags and environment can be read"));
    }
    findings.extend(secrets::check(settings));
    findings.extend(database::check(settings).await);
    findings.extend(addresses::check(settings).await);
    for Finding { verdict, subject, text } in &findings {
        let mark = if *verdict == Verdict::Good { "ok" } else { "WRONG" };
        say(&format!("{mark:<6} {subject:<10} {text}"));
    }
    match findings.iter().filter(|finding| finding.verdict == Verdict::Wrong).count() {
        0 => Ok(()),
        1 => Err(Failure::Other("1 thing is wrong".into())),
        count => Err(Failure::Other(format!("{count} things are wrong").into())),
    }
}
