//! The version of the running program.

use std::sync::OnceLock;

static VERSION: OnceLock<String> = OnceLock::new();

/// Returns the version of this program with the commit that it was built from, such as `0.2.0+3f2a1c04`.
pub fn version() -> &'static str {
    VERSION.get_or_init(|| with_commit(None))
}

/// Sets the commit that this program was built from, before the first call of [`version`].
pub(crate) fn set_commit(commit: Option<&str>) {
    VERSION.get_or_init(|| with_commit(commit));
}

fn with_commit(commit: Option<&str>) -> String {
    let commit = match commit {
        Some(commit) if !commit.is_empty() => commit,
        _ => "unknown",
    };
    format!("{}+{commit}", env!("CARGO_PKG_VERSION"))
}
