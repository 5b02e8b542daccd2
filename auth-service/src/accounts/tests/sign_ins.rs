//! Tests which sign-ins and refusals get a row in the record, and that all other refusals are
//! counted there.

use super::{App, NOW, POLICY, Policy};
use crate::{accounts::InitialPassword, audit::AuditRow, store::AuditFilter, user::User};
use http::HeaderValue;
use rolegate_program::request_context::RequestContext;
use rolegate_proto::Role;
use serde_json::Value;
use std::{net::IpAddr, time::Duration};
use tokio::{
    task::yield_now,
    time::{advance, pause},
};

/// Returns a user with this id, who need not be in the store.
fn user(id: i64) -> User {
    User {
        id,
        username: format!("user {id}"),
        role: Role::USER,
        tokens_not_before: NOW,
        disabled: false,
        second_factor: false,
        created_at: None,
        until: None,
        memberships: Vec::new(),
        found_groups: Vec::new(),
        tokens_marked_until: 0,
    }
}

/// Runs `work` as if a request came from this address.
async fn from<T>(address: &str, work: impl FnOnce() -> T) -> T {
    let context = RequestContext {
        request_id: HeaderValue::from_static("r1"),
        client_address: Some(address.parse::<IpAddr>().expect("an address")),
    };
    context.scope(async { work() }).await
}

impl App {
    /// Creates an app without users, so that no password has to be hashed.
    fn empty() -> Self {
        Self::unseeded(POLICY, InitialPassword::default())
    }

    async fn refuse(&self, user: Option<&User>, address: &str) {
        let refuse = || {
            self.recorder
                .record_login_failure(user, "login", "wrong_password");
        };
        from(address, refuse).await;
    }

    /// Returns all rows of the record, the newest first.
    pub(super) async fn recorded(&self) -> Vec<AuditRow> {
        self.store.seal_all().await.expect("sealed");
        let filter = AuditFilter {
            limit: 10_000,
            ..AuditFilter::default()
        };
        let rows = self.store.audit(&filter).await.expect("read");
        let rows = rows.into_iter();
        rows.map(|row| row.content.expect("readable")).collect()
    }

    /// Returns the number of refusals with a row, and the recorded numbers of refusals without one.
    async fn refusals(&self) -> (usize, Vec<u64>) {
        let recorded = self.recorded().await;
        let is_refusal =
            |row: &&AuditRow| ["login_failed", "api_key_refused"].contains(&row.event.as_str());
        let number = |row: &AuditRow| {
            let details: Value = serde_json::from_str(&row.details).expect("JSON");
            assert_eq!((row.user_id, &row.client_address), (None, &None));
            details["count"].as_u64().expect("a number")
        };
        let numbers = recorded
            .iter()
            .filter(|row| row.event == "refusals_not_recorded")
            .map(number);
        (
            recorded.iter().filter(is_refusal).count(),
            numbers.collect(),
        )
    }
}

#[tokio::test]
async fn refusals_at_many_own_accounts_from_one_network_do_not_hide_those_of_a_stranger() {
    let app = App::empty();
    for id in 1..=64 {
        app.refuse(Some(&user(id)), &format!("2001:db8::{id:x}"))
            .await;
    }
    app.refuse(Some(&user(99)), "2001:db9::1").await;
    app.refuse(None, "192.0.2.1").await;
    let recorded = app.recorded().await;
    assert_eq!(recorded[0].user_id, None);
    assert_eq!(recorded[1].user_id, Some(99));
    app.recorder.record_refusal_count();
    assert_eq!(app.refusals().await, (12, vec![54]));
}

#[tokio::test]
async fn refusals_at_one_account_from_many_addresses_do_not_hide_those_at_others() {
    let app = App::empty();
    for host in 1..=100 {
        app.refuse(Some(&user(1)), &format!("198.51.100.{host}"))
            .await;
    }
    app.refuse(Some(&user(2)), "192.0.2.1").await;
    assert_eq!(app.recorded().await[0].user_id, Some(2));
    app.recorder.record_refusal_count();
    assert_eq!(app.refusals().await, (11, vec![90]));
}

#[tokio::test]
async fn the_number_is_noted_a_minute_after_the_first_also_if_nothing_follows() {
    let app = App::empty();
    pause();
    let pass = async |seconds| {
        advance(Duration::from_secs(seconds)).await;
        yield_now().await;
    };
    for _ in 0..3 {
        app.refuse(None, "192.0.2.1").await;
    }
    pass(59).await;
    assert_eq!(app.refusals().await, (1, vec![]));
    pass(2).await;
    assert_eq!(app.refusals().await, (1, vec![2]));
    for _ in 0..4 {
        app.refuse(None, "192.0.2.1").await;
    }
    pass(61).await;
    assert_eq!(app.refusals().await, (2, vec![3, 2]));
    pass(300).await;
    assert_eq!(app.refusals().await, (2, vec![3, 2]), "none is no row");
}

#[tokio::test]
async fn refusals_that_the_limit_makes_without_a_check_are_counted_too() {
    let app = App::new(Policy {
        login_failure_limit: 3,
        ..POLICY
    })
    .await;
    app.register("ann").await.expect("registered");
    for _ in 0..3 {
        assert_err!(app.login("ann", "wrong").await, CredentialsInvalid);
    }
    for _ in 0..5 {
        assert_err!(app.login("ann", "sesame").await, TooManyAttempts);
        assert_err!(app.verify("ann", "sesame").await, TooManyAttempts);
    }
    assert_err!(app.login("admin", "wrong").await, CredentialsInvalid);
    app.recorder.record_refusal_count();
    // The rows are one wrong password of each user, and the first refusal by the limit.
    assert_eq!(app.refusals().await, (3, vec![11]));
}

#[tokio::test]
async fn unknown_keys_are_counted_and_hide_no_wrong_password() {
    let app = App::empty();
    for subnet in 0..1000 {
        let address = format!("2001:db8:0:{subnet:x}::1");
        from(&address, || app.recorder.record_api_key_refusal(None)).await;
    }
    app.refuse(None, "192.0.2.1").await;
    app.refuse(Some(&user(1)), "192.0.2.1").await;
    app.recorder.record_refusal_count();
    let (rows, numbers) = app.refusals().await;
    assert_eq!((rows, numbers), (42, vec![960]));
    assert_eq!(app.recorded().await[1].user_id, Some(1));
}

#[tokio::test]
async fn a_sign_in_has_a_row_once_a_minute_for_each_network_and_is_never_counted() {
    let app = App::empty();
    let ann = user(1);
    for address in ["2001:db8::1", "2001:db8::2", "192.0.2.1"] {
        from(address, || app.recorder.record_login(&ann, "login")).await;
        from(address, || app.recorder.record_login(&ann, "session")).await;
    }
    assert_eq!(app.recorded().await.len(), 4);
    app.recorder.record_refusal_count();
    assert_eq!(app.refusals().await, (0, vec![]));
}
