//! What makes this server is in no released program.

use super::PROGRAM;
use rolegate_test_server::MARKERS;
use std::{fs, process::Command};

const RELEASED: [&str; 8] = [
    "-p",
    "auth-service",
    "-p",
    "gateway",
    "-p",
    "posts-service",
    "-p",
    "rolegate",
];

/// The lines of `cargo tree` with the features of these packages.
fn features(packages: &[&str]) -> String {
    let mut tree = Command::new(env!("CARGO"));
    tree.args([
        "tree",
        "--locked",
        "--offline",
        "--edges",
        "normal,features",
    ])
    .args(packages);
    let output = tree.output().expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn no_released_program_has_the_feature() {
    let has_it = |tree: String| tree.contains("feature \"test-server\"");
    assert!(!has_it(features(&RELEASED)));
    assert!(has_it(features(&["-p", "rolegate-test-server"])));
}

#[test]
fn markers_show_in_the_program() {
    let program = fs::read(PROGRAM).expect("a program");
    for marker in MARKERS {
        let mut windows = program.windows(marker.len());
        assert!(windows.any(|bytes| bytes == marker.as_bytes()), "{marker}");
    }
}
