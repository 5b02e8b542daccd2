//! Tests of reading the record as an admin and as a user.

use super::{App, NOW, POLICY, origin};
use crate::{
    accounts::{AccountError, AuditRequest},
    audit::{AuditRow, EventGroup},
    store::CheckedRow,
    tokens::NewPasswordLink,
};
use http::HeaderValue;
use rolegate_program::request_context::RequestContext;
use rolegate_proto::Role;
use secrecy::ExposeSecret as _;
use std::time::Duration;

impl App {
    async fn record(
        &self,
        token: &str,
        request: AuditRequest,
    ) -> Result<(Vec<AuditRow>, Option<i64>), AccountError> {
        let page = self.record.list_audit(token, request).await?;
        assert!(page.is_complete, "the store seals at once");
        Ok((page.rows, page.next_after))
    }

    async fn all(&self) -> Vec<AuditRow> {
        self.record(&self.admin, AuditRequest::default())
            .await
            .expect("listed")
            .0
    }
}

/// Runs `work` as if a request came from the address with this last number.
async fn from<F: Future>(host: u8, work: F) -> F::Output {
    let request_id = HeaderValue::from_static("r1");
    RequestContext {
        request_id,
        client_address: origin(host).client_address,
    }
    .scope(work)
    .await
}

#[tokio::test]
async fn a_change_and_a_sign_in_are_in_the_record_of_the_next_request() {
    let app = App::new(POLICY).await;
    let ann = from(7, app.register("ann")).await.expect("registered");
    let token = from(8, app.login("ann", "sesame"))
        .await
        .expect("logged in");
    from(9, app.login("ann", "wrong")).await.expect_err("wrong");
    app.users
        .set_user_role(&app.admin, ann.id, Ok(Role::AUTHOR))
        .await
        .expect("set");
    app.users
        .revoke_tokens(&token, None)
        .await
        .expect("logged out");
    let rows = app.all().await;
    let rows: Vec<_> = rows
        .iter()
        .filter(|row| row.user_id == Some(ann.id))
        .collect();
    let row = |row: &&AuditRow| {
        (
            row.event.clone(),
            row.actor.clone().unwrap_or_default(),
            row.client_address.clone(),
        )
    };
    let expected = [
        ("tokens_revoked", "ann", None),
        ("role_changed", "admin", None),
        ("login_failed", "", Some("192.0.2.9")),
        ("login_ok", "ann", Some("192.0.2.8")),
        ("registered", "ann", Some("192.0.2.7")),
    ];
    let expected = expected.map(|(event, actor, address)| {
        (
            event.to_owned(),
            actor.to_owned(),
            address.map(str::to_owned),
        )
    });
    assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_record_is_for_admins_and_ones_own_for_everybody_without_the_addresses_of_others() {
    let app = App::new(POLICY).await;
    let ann = from(17, app.register("ann")).await.expect("registered");
    let bob = app.register("bob").await.expect("registered");
    let token = from(18, app.login("ann", "sesame"))
        .await
        .expect("logged in");
    from(19, app.login("ann", "wrong"))
        .await
        .expect_err("wrong");
    assert_err!(
        app.record(&token, AuditRequest::default()).await,
        RoleInsufficient
    );
    assert_err!(app.record("", AuditRequest::default()).await, TokenInvalid);
    let own = || AuditRequest {
        own: true,
        ..AuditRequest::default()
    };
    let of_bob = AuditRequest {
        user_id: Some(bob.id),
        ..own()
    };
    assert_err!(app.record(&token, of_bob).await, RoleInsufficient);
    let (rows, next) = app.record(&token, own()).await.expect("listed");
    assert!(next.is_none() && rows.iter().all(|row| row.user_id == Some(ann.id)));
    let seen: Vec<_> = rows
        .iter()
        .map(|it| (&*it.event, it.client_address.as_deref()))
        .collect();
    let expected = [
        ("login_failed", None),
        ("login_ok", Some("192.0.2.18")),
        ("registered", Some("192.0.2.17")),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn pages_of_the_record_have_no_gaps_and_their_limits() {
    let app = App::new(POLICY).await;
    for name in ["ann", "bob", "eve"] {
        app.register(name).await.expect("registered");
    }
    let all: Vec<_> = app
        .all()
        .await
        .into_iter()
        .map(|row| row.revision)
        .collect();
    let (mut paged, mut after) = (Vec::new(), None);
    loop {
        let request = AuditRequest {
            after,
            size: 2,
            ..AuditRequest::default()
        };
        let (rows, next) = app.record(&app.admin, request).await.expect("listed");
        paged.extend(rows.into_iter().map(|row| row.revision));
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert!(paged.is_sorted_by(|a, b| a > b));
    assert_eq!(paged, all);
    for request in [
        AuditRequest {
            size: 201,
            ..AuditRequest::default()
        },
        AuditRequest {
            size: -1,
            ..AuditRequest::default()
        },
        AuditRequest {
            after: Some(0),
            ..AuditRequest::default()
        },
        AuditRequest {
            user_id: Some(-1),
            ..AuditRequest::default()
        },
        AuditRequest {
            actor_id: Some(0),
            ..AuditRequest::default()
        },
        AuditRequest {
            event: "login_ok".to_owned(),
            events: Some(EventGroup::SignIns),
            ..AuditRequest::default()
        },
    ] {
        assert_err!(app.record(&app.admin, request).await, RequestInvalid);
    }
    for name in ["a\0", &"x".repeat(256)] {
        let of_user = AuditRequest {
            username: name.to_owned(),
            ..AuditRequest::default()
        };
        assert_err!(app.record(&app.admin, of_user).await, UsernameInvalid);
        let by_actor = AuditRequest {
            actor: name.to_owned(),
            ..AuditRequest::default()
        };
        assert_err!(app.record(&app.admin, by_actor).await, UsernameInvalid);
    }
}

#[tokio::test]
async fn a_refused_link_is_a_row_that_says_why_and_names_its_user_but_not_its_token() {
    let app = App::new(POLICY).await;
    let ann = app.register("ann").await.expect("registered");
    let make = async || {
        let made = app.users.create_password_link(&app.admin, ann.id).await;
        made.expect("made")
    };
    let redeem = async |token: &str, host| {
        let password = "open sesame".into();
        let redeemed = app
            .users
            .redeem_password_link(token, password, origin(host));
        assert_err!(from(host, redeemed).await, LinkInvalid);
    };
    let replaced = make().await.token;
    let NewPasswordLink {
        token: link,
        expires_at,
        ..
    } = make().await;
    redeem(replaced.expose_secret(), 30).await;
    redeem("rgl_", 31).await;
    app.store.set_time(expires_at);
    redeem(link.expose_secret(), 32).await;
    app.store.set_time(NOW);
    app.set_disabled(ann.id, true).await;
    let of_disabled = make().await.token;
    redeem(of_disabled.expose_secret(), 33).await;

    let rows = app.all().await;
    let refused: Vec<_> = rows
        .iter()
        .filter(|row| row.event == "password_link_refused")
        .map(|row| {
            let address = row.client_address.as_deref().unwrap_or_default();
            (address, row.user_id, row.username.as_deref(), &*row.details)
        })
        .collect();
    let of_ann = (Some(ann.id), Some("ann"));
    assert_eq!(
        refused,
        [
            ("192.0.2.33", of_ann.0, of_ann.1, r#"{"reason":"disabled"}"#),
            ("192.0.2.32", of_ann.0, of_ann.1, r#"{"reason":"expired"}"#),
            ("192.0.2.31", None, None, r#"{"reason":"unknown"}"#),
            ("192.0.2.30", None, None, r#"{"reason":"unknown"}"#),
        ]
    );
    let shown = format!("{rows:?}");
    for token in [replaced, link, of_disabled] {
        assert!(!shown.contains(&token.expose_secret()[4..]), "{shown}");
    }
}

#[tokio::test]
async fn what_is_old_goes_while_another_part_of_the_record_fails() {
    for failing in ["seal", "forget_additions", "remove_old_rows"] {
        let app = App::new(POLICY).await;
        app.store.add_to(1);
        app.store.set_time(NOW + 3600);
        app.store.set_failing(failing);
        tokio::time::pause();
        app.record.start_maintenance(90);
        tokio::time::sleep(Duration::from_mins(3)).await;
        tokio::time::resume();
        let is_forgotten = app.store.additions_kept() == 0;
        assert_eq!(is_forgotten, failing != "forget_additions", "{failing}");
        let is_removed = app.store.removals() > 1;
        assert_eq!(is_removed, failing != "remove_old_rows", "{failing}");
    }
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_an_entry_that_says_so_and_hides_no_other() {
    let app = App::new(POLICY).await;
    for name in ["ann", "bob", "eve"] {
        app.register(name).await.expect("registered");
    }
    let before = app.all().await;
    let damaged = before[1].revision;
    app.store.damage(damaged);
    let after = app.all().await;
    assert_eq!(after.len(), before.len());
    for (row, was) in after.iter().zip(&before) {
        if row.revision == damaged {
            assert_eq!(row.event, "audit_unreadable");
            assert_eq!(row.details, r#"{"column":"details"}"#);
            assert_eq!(row.username, None);
        } else {
            assert_eq!(row, was);
        }
    }
    let request = AuditRequest {
        size: 2,
        ..AuditRequest::default()
    };
    let (_, next) = app.record(&app.admin, request).await.expect("listed");
    assert_eq!(next, Some(damaged), "the pages go on behind it");
}

#[test]
fn a_time_or_details_that_no_client_takes_cannot_be_read_either() {
    let row = |at, details: &str| AuditRow {
        revision: 7,
        at,
        details: details.to_owned(),
        ..AuditRow::default()
    };
    let column = |row: AuditRow| {
        let checked = CheckedRow {
            revision: row.revision,
            at: Some(row.at),
            content: Ok(row),
        };
        checked.into_presentable().err()
    };
    assert_eq!(column(row(0, "{}")), None);
    assert_eq!(column(row(253_402_300_799, "{}")), None);
    for (row, expected) in [
        (row(-1, "{}"), "at"),
        (row(253_402_300_800, "{}"), "at"),
        (row(i64::MAX, "{}"), "at"),
        (row(1, ""), "details"),
        (row(1, "{"), "details"),
        (row(1, "[]"), "details"),
        (row(1, "null"), "details"),
    ] {
        let problem = column(row).expect("unreadable");
        assert_eq!(problem.column, expected);
    }
}
