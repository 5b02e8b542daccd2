use super::{Entry, MINUTE, RowLimits, RowQuota, SignInRows, UnrecordedRefusal};
use crate::audit::AuditRow;
use serde_json::{Value, json};
use std::net::IpAddr;
use tokio::time::Instant;

const LIMITS: RowLimits = RowLimits {
    all: 60,
    reserved: 20,
    per_client: 10,
    per_user: 10,
};

fn refusal(user_id: Option<i64>, from: &str) -> Entry {
    refusal_because("wrong_password", user_id, from)
}

fn refusal_because(reason: &str, user_id: Option<i64>, from: &str) -> Entry {
    let row = AuditRow {
        event: "login_failed".to_owned(),
        user_id,
        client_address: Some(from.to_owned()),
        ..AuditRow::default()
    };
    Entry::new(row, json!({ "reason": reason }))
}

/// Returns how many of these refusals get a row.
fn count_rows(quota: &RowQuota, refusals: impl Iterator<Item = Entry>, now: Instant) -> usize {
    refusals.filter(|refusal| quota.admit(refusal, now)).count()
}

#[test]
fn a_user_has_one_row_a_minute_for_each_network_event_and_reason() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    let ann = refusal(Some(7), "2001:db8::1");
    let neighbor = refusal(Some(7), "2001:db8::2");
    let elsewhere = refusal(Some(7), "192.0.2.1");
    let mapped = refusal(Some(7), "::ffff:192.0.2.1");
    let bob = refusal(Some(8), "2001:db8::1");
    let disabled = refusal_because("disabled", Some(7), "2001:db8::1");
    let mut key = disabled.clone();
    key.row.event = "api_key_refused".to_owned();
    let seen = [&ann, &ann, &neighbor, &elsewhere, &mapped, &bob];
    assert_eq!(
        seen.map(|refusal| quota.admit(refusal, now)),
        [true, false, false, true, false, true]
    );
    assert!(quota.admit(&disabled, now) && quota.admit(&key, now));
    assert!(!quota.admit(&ann, now + MINUTE / 2));
    assert!(quota.admit(&ann, now + MINUTE), "the next minute");
}

#[test]
fn sixty_four_accounts_of_one_network_leave_rows_to_a_stranger_from_elsewhere() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    let own = (1..=64).map(|id| refusal(Some(id), &format!("2001:db8::{id:x}")));
    assert_eq!(count_rows(&quota, own, now), 10);
    assert!(quota.admit(&refusal(Some(99), "2001:db9::1"), now));
    assert!(quota.admit(&refusal(None, "192.0.2.1"), now));
    assert!(!quota.admit(&refusal(Some(65), "2001:db8::ffff"), now));
}

#[test]
fn many_networks_of_one_subscriber_leave_rows_to_others() {
    for (prefix, bits, rows) in [("/56", 8, 20), ("/48", 16, 40)] {
        let quota = RowQuota::new(LIMITS);
        let now = Instant::now();
        let own = (0..2000_u32).map(|id| {
            let subnet = id.wrapping_mul(257) % (1 << bits);
            refusal(Some(id.into()), &format!("2001:db8:0:{subnet:x}::{id:x}"))
        });
        assert_eq!(count_rows(&quota, own, now), rows, "{prefix}");
        let others = (0..20).map(|id| refusal(Some(5000 + id), &format!("192.0.2.{id}")));
        assert_eq!(count_rows(&quota, others, now), 20, "{prefix}");
    }
}

#[test]
fn many_addresses_at_one_account_leave_rows_to_other_accounts() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    let guesses = (0..1000_u32).map(|number| {
        let from = IpAddr::from((0x0a00_0000 + number).to_be_bytes());
        refusal(Some(7), &from.to_string())
    });
    assert_eq!(count_rows(&quota, guesses, now), 10);
    assert!(quota.admit(&refusal(Some(8), "192.0.2.1"), now));
    assert!(
        quota.admit(&refusal(Some(8), "10.0.0.1"), now),
        "from an address that has a row"
    );
}

#[test]
fn the_last_rows_are_for_users_and_networks_without_one() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    // There are four clients with ten users each.
    let busy = (0..40).map(|id| refusal(Some(id), &format!("192.0.2.{}", id / 10)));
    assert_eq!(count_rows(&quota, busy, now), 40);
    assert!(
        !quota.admit(&refusal(Some(0), "198.51.100.1"), now),
        "a user with a row"
    );
    assert!(
        !quota.admit(&refusal(Some(50), "192.0.2.1"), now),
        "a network with rows"
    );
    let new = (0..1000_u32).map(|id| {
        let from = IpAddr::from((0x0a00_0000 + id).to_be_bytes());
        refusal(Some(100 + i64::from(id)), &from.to_string())
    });
    assert_eq!(count_rows(&quota, new, now), 20);
    assert!(quota.admit(&refusal(Some(0), "192.0.2.1"), now + MINUTE));
}

#[test]
fn clients_without_a_known_address_are_one_client_and_events_without_a_user_count_for_none() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    let unknown = |user_id| {
        let mut entry = refusal(user_id, "192.0.2.1");
        entry.row.client_address = None;
        entry
    };
    assert_eq!(
        count_rows(&quota, (0..100).map(|id| unknown(Some(id))), now),
        10
    );
    let strangers = (0..30).map(|id| refusal(None, &format!("192.0.2.{id}")));
    assert_eq!(count_rows(&quota, strangers, now), 30);
}

#[test]
fn memory_is_bounded_by_the_rows() {
    let quota = RowQuota::new(LIMITS);
    let now = Instant::now();
    for number in 0..10_000_u32 {
        let from = IpAddr::from(number.to_be_bytes());
        quota.admit(&refusal(Some(number.into()), &from.to_string()), now);
    }
    let minute = quota.minute.lock();
    let sizes = [
        minute.recorded.len(),
        minute.by_network.len(),
        minute.by_user.len(),
    ];
    assert_eq!(sizes, [60; 3]);
}

fn event(event: &str, user_id: Option<i64>, number: u32) -> Entry {
    event_with_details(event, user_id, number, json!({}))
}

fn event_with_details(event: &str, user_id: Option<i64>, number: u32, details: Value) -> Entry {
    let address = IpAddr::from((0x0a00_0000 + number).to_be_bytes());
    let row = AuditRow {
        event: event.to_owned(),
        user_id,
        client_address: Some(address.to_string()),
        ..AuditRow::default()
    };
    Entry::new(row, details)
}

#[test]
fn a_flood_of_one_kind_does_not_hide_the_others() {
    let rows = SignInRows::new();
    for number in 0..1000 {
        let _ = rows.admit_refusal(&event("login_failed", None, number));
    }
    assert_eq!(
        rows.admit_refusal(&event("login_failed", Some(1), 1)),
        Ok(())
    );
    for number in 0..1000 {
        let _ = rows.admit_refusal(&event("login_failed", Some(number.into()), number));
    }
    assert!(rows.admit_sign_in(&event("login_ok", Some(1), 1)));
    for number in 0..10_000 {
        rows.admit_sign_in(&event("login_ok", Some(number.into()), number));
    }
    let new = SignInRows::new();
    for number in 0..10_000 {
        new.admit_sign_in(&event("login_ok", Some(number.into()), number));
    }
    assert_eq!(
        new.admit_refusal(&event("login_failed", Some(1), 1)),
        Ok(())
    );
    assert_eq!(new.admit_refusal(&event("login_failed", None, 1)), Ok(()));
}

#[test]
fn an_office_signs_in_at_once_and_one_user_cannot_fill_the_record() {
    let rows = SignInRows::new();
    let office = (0..600).filter(|&id| rows.admit_sign_in(&event("login_ok", Some(id), 1)));
    assert_eq!(office.count(), 500);
    let own = (10..1010).filter(|&from| rows.admit_sign_in(&event("login_ok", Some(1000), from)));
    assert_eq!(own.count(), 60);
}

#[test]
fn rows_and_numbers_are_together_every_refusal() {
    let rows = SignInRows::new();
    assert!(rows.take_unrecorded().is_none());
    let mut recorded = 0;
    let mut first = 0;
    for number in 0..500_u32 {
        match rows.admit_refusal(&event("login_failed", Some((number % 3).into()), number)) {
            Ok(()) => recorded += 1,
            Err(UnrecordedRefusal::First) => first += 1,
            Err(UnrecordedRefusal::Further) => {}
        }
    }
    assert_eq!(rows.count_refusal(), UnrecordedRefusal::Further);
    let entry = rows.take_unrecorded().expect("some got no row");
    assert_eq!((recorded, first), (30, 1));
    assert_eq!(entry.details["count"], 471);
    let row = entry.row;
    assert_eq!(row.event, "refusals_not_recorded");
    assert_eq!((row.user_id, row.client_address), (None, None));
    assert_eq!(row.details, r#"{"count":471}"#);
    assert!(rows.take_unrecorded().is_none(), "each is noted once");
    assert_eq!(rows.count_refusal(), UnrecordedRefusal::First);
}

#[test]
fn sign_ins_without_a_row_are_not_counted() {
    let rows = SignInRows::new();
    let details = json!({ "method": "login" });
    let sign_in = event_with_details("login_ok", Some(1), 1, details);
    assert!(rows.admit_sign_in(&sign_in) && !rows.admit_sign_in(&sign_in));
    assert!(rows.take_unrecorded().is_none());
}
