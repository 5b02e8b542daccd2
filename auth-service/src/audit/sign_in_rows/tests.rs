use super::{Entry, SignInRows, UnrecordedRefusal};
use crate::audit::Details;
use std::net::IpAddr;

fn event(event: &'static str, user_id: Option<i64>, number: u32) -> Entry {
    Entry {
        event,
        user_id,
        client_address: Some(IpAddr::from((0x0a00_0000 + number).to_be_bytes())),
        ..Entry::default()
    }
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
    assert_eq!(entry.details.count, Some(471));
    assert_eq!(entry.event, "refusals_not_recorded");
    assert_eq!((entry.user_id, entry.client_address), (None, None));
    assert_eq!(entry.details.to_json(), r#"{"count":471}"#);
    assert!(rows.take_unrecorded().is_none(), "each is noted once");
    assert_eq!(rows.count_refusal(), UnrecordedRefusal::First);
}

#[test]
fn sign_ins_without_a_row_are_not_counted() {
    let rows = SignInRows::new();
    let details = Details {
        method: Some("login"),
        ..Details::default()
    };
    let sign_in = Entry {
        details,
        ..event("login_ok", Some(1), 1)
    };
    assert!(rows.admit_sign_in(&sign_in) && !rows.admit_sign_in(&sign_in));
    assert!(rows.take_unrecorded().is_none());
}
