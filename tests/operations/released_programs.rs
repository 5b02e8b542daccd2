//! Checks that no released program contains a part of `rolegate-test-server`.

use e2e::Program;
use std::{path::Path, process::Command};

/// Texts from the code that moves the clock, causes failures and opens a database in memory, which only
/// `rolegate-test-server` may contain. `tests/long/release` and `tests/long/test-server` look for them, too.
const MARKERS: [&str; 3] = [
    "rolegate-test-clock",
    "rolegate-test-outage",
    "/users?vfs=memdb",
];

const RELEASED: [Program; 4] = [
    Program::AuthService,
    Program::Gateway,
    Program::PostsService,
    Program::Rolegate,
];

fn markers_in(program: &Path) -> Vec<&'static str> {
    MARKERS
        .into_iter()
        .filter(|marker| contains(program, marker))
        .collect()
}

/// Searches with `grep`, because the code of tests is not optimized and a program has a hundred megabytes.
fn contains(program: &Path, marker: &str) -> bool {
    let found = Command::new("grep")
        .args(["--quiet", "--text", "--fixed-strings", "--", marker])
        .arg(program)
        .status()
        .expect("grep starts");
    match found.code() {
        Some(0) => true,
        Some(1) => false,
        code => panic!("{}: grep ended with {code:?}", program.display()),
    }
}

/// Reads the programs of this build, which Cargo has built together with the test server and with united features. Even
/// then, no part of the test server may reach them.
#[test]
fn no_released_program_contains_a_part_of_the_test_server() {
    for program in RELEASED {
        let found = markers_in(&program.path());
        assert!(found.is_empty(), "{}: {found:?}", program.name());
    }
    let test_server = Program::Rolegate
        .path()
        .with_file_name("rolegate-test-server");
    assert_eq!(markers_in(&test_server), MARKERS);
}
