//! Tests what the record, the log and a copy of the database contain about second factors.

use super::{INVALID, OFF, ON, REQUIRED, confirm, expect_no_entry, turn_off};
use crate::audit::audit;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use e2e::{Api, TestSetup, TestUser, eventually, for_two_deployments};
use serde_json::{Value, json};

for_two_deployments!(
    each_change_of_a_second_factor_is_in_the_record_and_the_audit,
    a_refused_sign_in_says_what_was_missing,
    a_copy_of_the_database_has_no_secret,
);

/// Returns these fields of the record's entries about the user, the newest first, if the event
/// begins with one of `starts`.
async fn rows(api: &Api, user: &TestUser, fields: &[&str], starts: &[&str]) -> Vec<Value> {
    let path = format!("/audit?limit=200&user_id={}", user.id);
    let body = api.get(&path).await.expect(200).json();
    let is_meant = |entry: &&Value| {
        starts.iter().any(|start| {
            entry["event"]
                .as_str()
                .is_some_and(|it| it.starts_with(start))
        })
    };
    let entries = body["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter(is_meant);
    entries
        .map(|entry| fields.iter().map(|field| entry[*field].clone()).collect())
        .collect()
}

async fn each_change_of_a_second_factor_is_in_the_record_and_the_audit(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let as_admin = app.bearer.with_token(&admin.token);
    let factor = ann.begin_second_factor(&app.bearer).await;
    let own = app.bearer.with_token(&ann.token);
    // A refused code is not recorded as a change.
    confirm(&own, &factor.totp.wrong()).await.expect(400);
    confirm(&own, &factor.code()).await.expect_message(ON);
    let ann = ann
        .log_in_with_code(&app.bearer, &factor.recovery_codes[0])
        .await;
    let own = app.bearer.with_token(&ann.token);
    turn_off(&own, &factor.totp.wrong()).await.expect(400);
    turn_off(&own, &factor.recovery_codes[1])
        .await
        .expect_message(OFF);
    ann.turn_on_second_factor(&app.bearer).await;
    let path = format!("/users/{}/second-factor", ann.id);
    as_admin.delete(&path).await.expect_message(OFF);

    let by_ann = |event: &str| json!([event, ann.id, "ann", ann.id, "ann", "127.0.0.1"]);
    let expected = [
        json!([
            "second_factor_removed",
            ann.id,
            "ann",
            admin.id,
            "admin",
            "127.0.0.1"
        ]),
        by_ann("second_factor_enabled"),
        by_ann("second_factor_begun"),
        by_ann("second_factor_disabled"),
        by_ann("recovery_code_used"),
        by_ann("recovery_code_used"),
        by_ann("second_factor_enabled"),
        by_ann("second_factor_begun"),
    ];
    let fields = [
        "event",
        "user_id",
        "username",
        "actor_id",
        "actor",
        "client_address",
    ];
    let starts = ["second_factor", "recovery_code"];
    assert_eq!(rows(&as_admin, &ann, &fields, &starts).await, expected);

    let mut lines = audit(app.auth(), "second_factor", 6).await;
    lines.extend(audit(app.auth(), "recovery_code", 2).await);
    for line in &mut lines {
        line.as_object_mut()
            .and_then(|line| line.remove("request_id"))
            .expect("an id");
    }
    let by_ann = |event: &str| json!({ "event": event, "user_id": ann.id, "username": "ann" });
    let removed = json!({
        "event": "second_factor_removed", "user_id": ann.id, "username": "ann",
        "actor_id": admin.id, "actor": "admin",
    });
    let expected = [
        by_ann("second_factor_begun"),
        by_ann("second_factor_enabled"),
        by_ann("second_factor_disabled"),
        by_ann("second_factor_begun"),
        by_ann("second_factor_enabled"),
        removed,
        by_ann("recovery_code_used"),
        by_ann("recovery_code_used"),
    ];
    assert_eq!(lines, expected);
}

async fn a_refused_sign_in_says_what_was_missing(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let factor = ann.turn_on_second_factor(&app.bearer).await;
    expect_no_entry(&app.try_log_in("ann", &ann.password).await, REQUIRED);
    app.basic
        .with_basic("ann", &ann.password)
        .get("/protected")
        .await
        .expect(401);
    for _ in 0..10 {
        expect_no_entry(
            &ann.try_code(&app.bearer, &factor.totp.wrong()).await,
            INVALID,
        );
    }
    ann.try_code(&app.bearer, &factor.next_code())
        .await
        .expect(429);
    app.try_log_in("ann", "wrong").await.expect(401);
    app.database.forget_codes().await;
    ann.log_in_with_code(&app.bearer, &factor.code()).await;

    let refused = audit(app.auth(), "login_failed", 14).await;
    let refused: Vec<_> = refused
        .iter()
        .map(|line| json!([line["method"], line["reason"]]))
        .collect();
    let mut expected = vec![
        json!(["login", "otp_required"]),
        json!(["basic", "otp_required"]),
    ];
    expected.extend((0..10).map(|_| json!(["login", "wrong_otp"])));
    expected.extend([
        json!(["login", "too_many_codes"]),
        json!(["login", "wrong_password"]),
    ]);
    assert_eq!(refused, expected);
    // A right password alone does not count as a sign-in. The log has one line for the registration
    // and one for each completed sign-in.
    let ok = audit(app.auth(), "login_ok", 4).await;
    let of_ann = ok.iter().filter(|line| line["username"] == "ann");
    let methods: Vec<_> = of_ann.map(|line| line["method"].clone()).collect();
    assert_eq!(methods, ["login", "second_factor", "login"]);

    let as_admin = app.bearer.with_token(&admin.token);
    let reasons = eventually("the rows of the refusals", async || {
        let rows = rows(&as_admin, &ann, &["details"], &["login_failed"]).await;
        let reasons: Vec<_> = rows.iter().map(|row| row[0]["reason"].clone()).collect();
        reasons
            .contains(&json!("wrong_password"))
            .then_some(reasons)
    });
    let mut reasons = reasons.await;
    reasons.sort_by_key(Value::to_string);
    reasons.dedup();
    assert_eq!(
        reasons,
        [
            "otp_required",
            "too_many_codes",
            "wrong_otp",
            "wrong_password"
        ]
    );
}

async fn a_copy_of_the_database_has_no_secret(setup: TestSetup) {
    let app = setup.with("LOG_FORMAT", "json").start().await;
    let (ann, bob) = (app.user("ann").await, app.user("bob").await);
    // One second factor was confirmed and used, the other was only begun.
    let on = ann.turn_on_second_factor(&app.bearer).await;
    ann.log_in_with_code(&app.bearer, &on.recovery_codes[0])
        .await;
    ann.log_in_with_code(&app.bearer, &on.next_code()).await;
    let begun = bob.begin_second_factor(&app.bearer).await;
    let copy = app.database.copy_of_users().await;
    let contains = |bytes: &[u8]| copy.windows(bytes.len()).any(|window| window == bytes);
    // Without this check, an empty copy would pass the test.
    assert!(contains(b"second_factor_begun") && contains(b"otp:$2b$"));
    let said = [&*app.auth().stderr(), &*app.gateway().stderr()].concat();
    for factor in [on, begun] {
        let bytes = factor.totp.secret();
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = hex.concat();
        let mut secrets = vec![
            factor.secret.clone(),
            factor.secret.to_lowercase(),
            hex.to_uppercase(),
            STANDARD.encode(bytes),
            hex,
        ];
        for code in &factor.recovery_codes {
            let plain = code.replace('-', "");
            secrets.extend([code.clone(), plain.to_uppercase(), plain]);
        }
        assert!(!contains(bytes), "the secret is in the database");
        for secret in secrets {
            assert!(!contains(secret.as_bytes()), "{secret} is in the database");
            assert!(!said.contains(&secret), "{secret} is in the log: {said}");
        }
    }
}
