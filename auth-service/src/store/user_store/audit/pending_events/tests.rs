use super::{MAX_EVENTS, MAX_EVENTS_BEFORE_SIGN_IN, PendingEvents};
use crate::audit::{AuditRow, Entry, unrecorded_refusals};
use serde_json::json;

fn event(event: &str) -> Entry {
    let row = AuditRow {
        event: event.to_owned(),
        ..AuditRow::default()
    };
    Entry::new(row, json!({}))
}

fn refusals(events: &[Entry]) -> u64 {
    events.iter().map(Entry::refusals).sum()
}

#[test]
fn sign_ins_leave_room_for_refusals_and_the_number_of_the_others_follows() {
    let pending = PendingEvents::default();
    for _ in 0..MAX_EVENTS {
        pending.add(event("login_ok"));
    }
    for _ in 0..MAX_EVENTS {
        pending.add(event("login_failed"));
    }
    pending.add(unrecorded_refusals(7));
    let mut written = Vec::new();
    while !pending.is_empty() {
        written.extend(pending.take(1000));
    }
    let count = |name| {
        written
            .iter()
            .filter(|entry| entry.row.event == name)
            .count()
    };
    assert_eq!(count("login_ok"), MAX_EVENTS_BEFORE_SIGN_IN);
    assert_eq!(
        count("login_failed"),
        MAX_EVENTS - MAX_EVENTS_BEFORE_SIGN_IN
    );
    assert_eq!(count("refusals_not_recorded"), 2);
    let all = u64::try_from(MAX_EVENTS).expect("small");
    assert_eq!(refusals(&written), all + 7);
}

#[test]
fn events_that_were_not_written_come_again_in_their_order() {
    let pending = PendingEvents::default();
    for name in ["login_failed", "login_ok", "api_key_refused"] {
        pending.add(event(name));
    }
    let taken = pending.take(2);
    pending.add(event("password_link_refused"));
    pending.put_back(taken);
    let names: Vec<_> = pending
        .take(10)
        .iter()
        .map(|entry| entry.row.event.clone())
        .collect();
    let expected = [
        "login_failed",
        "login_ok",
        "api_key_refused",
        "password_link_refused",
    ];
    assert_eq!(names, expected);
    assert!(pending.is_empty());
}

#[test]
fn refusals_that_may_not_have_been_written_are_counted_once() {
    let pending = PendingEvents::default();
    pending.add(event("login_failed"));
    pending.add(event("login_ok"));
    pending.add(unrecorded_refusals(3));
    pending.give_up(&pending.take(10));
    assert!(!pending.is_empty(), "the number is to be written");
    let number = pending.take(10);
    assert_eq!(number.len(), 1);
    assert_eq!(number[0].row.details, r#"{"count":4}"#);
    pending.put_back(number);
    assert_eq!(refusals(&pending.take(10)), 4);
    assert!(pending.is_empty());
}
