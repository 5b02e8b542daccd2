//! Recorded histories fit the model that the specifications refine, and wrong histories do not.

use specifications::{
    history::{Credential, Step, replay},
    proof,
};
use stateright::semantics::{ConsistencyTester as _, LinearizabilityTester};
use std::{env, fs};

/// The credentials of one user in a run of `reads_are_linearizable_on_postgres`, with every kind of
/// change.
const RECORDED: &str = include_str!("recorded.tsv");

/// Replays the history of one credential, whose name is left out of the lines.
fn replay_of(kind: &str, operations: &[&str]) -> Result<usize, String> {
    let line = |operation: &&str| format!("ann\t{kind}\t{}\n", operation.replace(' ', "\t"));
    replay(&operations.iter().map(line).collect::<String>())
}

#[test]
fn recorded_history_is_explained() {
    assert_eq!(replay(RECORDED), Ok(RECORDED.lines().count()));
}

/// Replays the history of a run of `cargo test -p e2e --test linearizability` with the same
/// setting.
#[test]
#[ignore = "needs a history: LINEARIZABILITY_HISTORY"]
fn history_of_a_run_is_explained() {
    let path = env::var_os("LINEARIZABILITY_HISTORY").expect("LINEARIZABILITY_HISTORY is set");
    let history = fs::read_to_string(path).expect("a history");
    let (operations, replayed) = (history.lines().count(), replay(&history));
    assert_eq!(replayed, Ok(operations));
    let unexplained = operations - replayed.unwrap_or_default();
    proof(
        "order",
        &[("operations of the runs above", operations)],
        &[("not in one order", unexplained)],
    );
}

#[test]
fn recorded_history_with_one_other_role_is_not_explained() {
    let reads = RECORDED
        .lines()
        .filter(|line| line.contains("\tread\t"))
        .count();
    for read in (0..reads).step_by(20) {
        let mut count = 0;
        let change = |line: &str| {
            let is_read = line.contains("\tread\t");
            count += usize::from(is_read);
            let (rest, _) = line.rsplit_once('\t').expect("fields");
            if is_read && count == read + 1 {
                format!("{rest}\tnobody\n")
            } else {
                format!("{line}\n")
            }
        };
        let changed: String = RECORDED.lines().map(change).collect();
        assert!(replay(&changed).is_err(), "read {read}");
    }
}

#[test]
fn stale_read_is_not_explained() {
    let history = ["change 0 0 user", "change 10 20 author", "read 21 30 user"];
    let error = replay_of("access token", &history).expect_err("stale");
    assert!(
        error.starts_with("ann: ") && error.contains("invoked: 21"),
        "{error}"
    );
    let history = ["change 0 0 user", "change 10 20 author", "read 19 30 user"];
    assert_eq!(replay_of("access token", &history), Ok(3));
}

#[test]
fn no_read_returns_to_a_role_after_another_has_seen_the_next() {
    let changes = ["change 0 0 user", "change 10 90 author"];
    let history = [&changes[..], &["read 20 30 author", "read 40 50 user"]].concat();
    assert!(replay_of("session", &history).is_err());
    let history = [&changes[..], &["read 20 41 author", "read 40 50 user"]].concat();
    assert_eq!(replay_of("session", &history), Ok(4));
}

#[test]
fn change_without_an_answer_happens_or_not_and_at_any_time() {
    let changes = ["change 0 0 user", "change 10 - author"];
    for reads in [["user", "user"], ["user", "author"], ["author", "author"]] {
        let [first, second] = [
            format!("read 20 30 {}", reads[0]),
            format!("read 40 50 {}", reads[1]),
        ];
        let history = [&changes[..], &[&first, &second]].concat();
        assert_eq!(replay_of("access token", &history), Ok(4), "{reads:?}");
    }
    let history = [&changes[..], &["read 20 30 author", "read 40 50 user"]].concat();
    assert!(replay_of("access token", &history).is_err());
}

#[test]
fn only_an_api_key_and_a_password_live_again() {
    let history = [
        "change 0 0 user",
        "change 10 20 ended",
        "change 30 40 user",
        "read 50 60 user",
    ];
    assert!(replay_of("session", &history).is_err());
    assert!(replay_of("access token", &history).is_err());
    assert_eq!(replay_of("API key", &history), Ok(4));
    assert_eq!(replay_of("password", &history), Ok(4));
}

#[test]
fn malformed_history_is_an_error() {
    for line in [
        "change 0 0",
        "change 0 x user",
        "write 0 0 user",
        "change 0 0 user now",
        "read 0 0 user",
    ] {
        assert!(replay_of("session", &[line]).is_err(), "{line}");
    }
}

/// Compares the replay with stateright's own tester, which visits all orders and is therefore only
/// for short histories.
#[test]
fn replay_agrees_with_the_tester_of_stateright() {
    let mut random = 1_u64;
    let mut below = |limit: u64| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % limit
    };
    let roles = [Some("user"), Some("author"), None];
    let mut explained = 0;
    for _ in 0..3000 {
        let revives = below(2) == 0;
        let mut tester = LinearizabilityTester::new(Credential {
            role: roles[0],
            revives,
        });
        let kind = if revives { "API key" } else { "session" };
        let mut lines = vec!["change 0 0 user".to_owned()];
        // The requests in flight of a writer and two readers: when each began, and the role that it
        // sets.
        let mut open = [None; 3];
        for time in 1..=10 {
            let thread = usize::try_from(below(3)).expect("small");
            let role = roles[usize::try_from(below(3)).expect("small")];
            let Some((began, set)) = open[thread].take() else {
                open[thread] = Some((time, role));
                let step = if thread == 0 {
                    Step::Change(role)
                } else {
                    Step::Read
                };
                tester.on_invoke(thread, step).expect("none in flight");
                continue;
            };
            let (operation, role, received) = if thread == 0 {
                ("change", set, None)
            } else {
                ("read", role, role)
            };
            tester.on_return(thread, received).expect("in flight");
            lines.push(format!(
                "{operation} {began} {time} {}",
                role.unwrap_or("ended")
            ));
        }
        if let Some((began, set)) = open[0] {
            lines.push(format!("change {began} - {}", set.unwrap_or("ended")));
        }
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let is_explained = replay_of(kind, &lines).is_ok();
        assert_eq!(is_explained, tester.is_consistent(), "{lines:#?}");
        explained += usize::from(is_explained);
    }
    assert!((300..2700).contains(&explained), "{explained}");
}
