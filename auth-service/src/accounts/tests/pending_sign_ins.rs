//! Tests of sign-ins that request the code on a page of its own.

use super::{NOW, origin, second_factor::EnrolledUser, sessions::created};
use crate::{
    accounts::{
        SessionOutcome, SessionRequest, SessionUse, authenticator::session_creation::CreatedSession,
    },
    principal::Principal,
    second_factor::Mode,
    store::UserFilter,
};
use rolegate_proto::Reason;
use secrecy::{ExposeSecret as _, SecretString};

const PLACE: &str = "https://auth.example.org";

/// Returns a request for two sessions from the page that `place` names.
fn at(place: &str, pending: Option<&str>) -> SessionRequest {
    SessionRequest {
        session_use: SessionUse::ApiAndApplication,
        place: place.to_owned(),
        pending: pending.map(ToOwned::to_owned),
        ..SessionRequest::default()
    }
}

impl EnrolledUser {
    /// Sends the correct password from the page, and returns the token of the pending sign-in.
    async fn begin(&self) -> SecretString {
        let request = at(PLACE, None);
        let app = &self.app;
        let begun =
            app.authenticator
                .create_session("ann", "sesame".into(), request, None, origin(1));
        match begun.await {
            Ok(SessionOutcome::CodeRequired { pending_sign_in }) => pending_sign_in,
            other => panic!("{other:?}"),
        }
    }

    /// Sends a code from its page. No user has the username and the password that are sent.
    async fn send(
        &self,
        request: SessionRequest,
        otp: Option<&str>,
    ) -> Result<CreatedSession, Reason> {
        let app = &self.app;
        let made = app
            .authenticator
            .create_session("", "".into(), request, otp, origin(1));
        created(made.await).map_err(|error| error.reason())
    }

    async fn finish(&self, token: &SecretString, otp: &str) -> Result<CreatedSession, Reason> {
        self.send(at(PLACE, Some(token.expose_secret())), Some(otp))
            .await
    }

    async fn last_login(&self) -> Option<u64> {
        let ann = UserFilter {
            limit: 1,
            username_prefix: "ann".to_owned(),
            ..UserFilter::default()
        };
        let listed = self.app.store.list(&ann).await.expect("listed");
        listed.into_iter().next().expect("ann").last_login_at
    }

    /// Returns the events of the record with their reasons, the oldest first.
    async fn events(&self) -> Vec<String> {
        let rows = self.app.recorded().await.into_iter().rev();
        rows.map(|row| format!("{} {}", row.event, row.details))
            .collect()
    }
}

#[tokio::test]
async fn the_right_password_is_sent_once_and_the_code_makes_both_sessions() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let token = ann.begin().await;
    let text = token.expose_secret();
    assert!(text.starts_with("rgp_") && text.len() == 47, "{text}");
    assert!(!ann.app.is_accepted(text).await, "it is no credential");
    // A wrong code, a blank one and a missing one leave the sign-in pending.
    for (otp, expected) in [
        (Some("000000"), Reason::OtpInvalid),
        (Some("nonsense"), Reason::OtpInvalid),
        (Some(" "), Reason::OtpRequired),
        (None, Reason::OtpRequired),
    ] {
        let refused = ann.send(at(PLACE, Some(text)), otp).await;
        assert_eq!(refused.map(drop), Err(expected), "{otp:?}");
    }
    let otp = ann.otp(NOW + 30);
    let made = ann.finish(&token, &otp).await.expect("signed in");
    assert_eq!(made.user.username, "ann");
    assert!(ann.app.is_accepted(made.token.expose_secret()).await);
    assert!(made.application_token.is_some());
    // The pending sign-in was used up, so no code is accepted for it any more.
    for otp in [ann.otp(NOW + 60), ann.code(0)] {
        let again = ann.finish(&token, &otp).await;
        assert_eq!(again.map(drop), Err(Reason::TokenInvalid));
    }
    let by_recovery_code = ann.begin().await;
    let made = ann.finish(&by_recovery_code, &ann.code(0)).await;
    made.expect("the code of before was not used up");
}

#[tokio::test]
async fn a_pending_sign_in_is_valid_only_where_and_for_what_it_was_made() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let token = ann.begin().await;
    let text = token.expose_secret();
    let otp = ann.otp(NOW + 30);
    let mut malformed = text.to_owned();
    malformed.pop();
    let session = text.replace("rgp_", "rgs_");
    let mut others = vec![
        at("https://app.example.org", Some(text)),
        at("http://auth.example.org", Some(text)),
        at("", Some(text)),
        at(PLACE, Some("")),
        at(PLACE, Some("rgp_")),
        at(PLACE, Some(&malformed)),
        at(PLACE, Some(&session)),
        at(PLACE, Some(&format!("rgp_{}", "A".repeat(43)))),
    ];
    for session_use in [
        SessionUse::Api,
        SessionUse::Application,
        SessionUse::ApiAndDomain,
    ] {
        others.push(SessionRequest {
            session_use,
            ..at(PLACE, Some(text))
        });
    }
    for request in others {
        let refused = ann.send(request.clone(), Some(&otp)).await;
        assert_eq!(refused.map(drop), Err(Reason::TokenInvalid), "{request:?}");
    }
    // None of these requests used up the code, or counted as a wrong one.
    ann.finish(&token, &otp).await.expect("signed in");
}

#[tokio::test]
async fn only_a_page_gets_pending_sign_ins() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let app = &ann.app;
    let create = async |password: &str, place, otp: Option<&str>| {
        let made = app.authenticator.create_session(
            "ann",
            password.into(),
            at(place, None),
            otp,
            origin(1),
        );
        created(made.await)
            .map(drop)
            .map_err(|error| error.reason())
    };
    assert_eq!(create("sesame", "", None).await, Err(Reason::OtpRequired));
    for otp in [None, Some("000000")] {
        let refused = create("wrong", PLACE, otp).await;
        assert_eq!(refused, Err(Reason::CredentialsInvalid));
    }
    // A page of the previous release sends the password and the code together.
    assert_eq!(
        create("sesame", PLACE, Some("000000")).await,
        Err(Reason::OtpInvalid)
    );
    let otp = ann.otp(NOW + 30);
    assert_eq!(create("sesame", PLACE, Some(&otp)).await, Ok(()));
    // A user without a second factor is signed in at once.
    let made = app.authenticator.create_session(
        "admin",
        "sesame".into(),
        at(PLACE, None),
        None,
        origin(1),
    );
    created(made.await).expect("signed in");
    let named = SessionRequest {
        name: Some(String::new()),
        ..at(PLACE, Some(ann.begin().await.expose_secret()))
    };
    let refused = ann.send(named, Some(&ann.otp(NOW + 60))).await;
    assert_eq!(refused.map(drop), Err(Reason::SessionInvalid));
}

#[tokio::test]
async fn wrong_codes_count_over_all_sign_ins_of_a_user_and_block_no_recovery_code() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let sign_ins = [ann.begin().await, ann.begin().await];
    for wrong in 0..9 {
        let refused = ann.finish(&sign_ins[wrong % 2], "000000").await;
        assert_eq!(refused.map(drop), Err(Reason::OtpInvalid), "{wrong}");
    }
    // This is the tenth wrong code, sent together with the password.
    assert_eq!(ann.login(Some("000000")).await, Err(Reason::OtpInvalid));
    let otp = ann.otp(NOW + 30);
    for token in &sign_ins {
        let refused = ann.finish(token, &otp).await;
        assert_eq!(refused.map(drop), Err(Reason::TooManyAttempts));
    }
    let made = ann.finish(&sign_ins[1], &ann.code(0)).await;
    made.expect("a recovery code");
}

#[tokio::test]
async fn a_pending_sign_in_ends_after_five_minutes() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let [first, second] = [ann.begin().await, ann.begin().await];
    let otp = ann.otp(NOW + 299);
    ann.finish(&first, &otp).await.expect("in time");
    let otp = ann.otp(NOW + 330);
    let late = ann.finish(&second, &otp).await;
    assert_eq!(late.map(drop), Err(Reason::TokenInvalid));
    ann.login(Some(&otp))
        .await
        .expect("the code is not used up");
}

#[tokio::test]
async fn a_revocation_between_the_code_and_the_sessions_leaves_none() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let token = ann.begin().await;
    let otp = ann.otp(NOW + 30);
    ann.app.store.revoke_before_next_token();
    let refused = ann.finish(&token, &otp).await;
    assert_eq!(refused.map(drop), Err(Reason::TokenInvalid));
    let token = ann.begin().await;
    ann.app.revoke_tokens(Principal::Operator, 2).await;
    let refused = ann.finish(&token, &ann.otp(NOW + 60)).await;
    assert_eq!(refused.map(drop), Err(Reason::TokenInvalid));
}

#[tokio::test]
async fn a_half_sign_in_is_no_sign_in_and_the_whole_one_is_recorded_as_one() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let last = ann.last_login().await;
    ann.app.store.set_time(NOW + 10);
    let before = ann.events().await.len();
    let token = ann.begin().await;
    assert_eq!(ann.last_login().await, last);
    let wrong = ann.finish(&token, "000000").await;
    assert_eq!(wrong.map(drop), Err(Reason::OtpInvalid));
    let otp = ann.otp(NOW + 30);
    ann.finish(&token, &otp).await.expect("signed in");
    assert_eq!(ann.last_login().await, Some(NOW + 30));
    let events = ann.events().await;
    let events: Vec<_> = events[before..].iter().map(String::as_str).collect();
    assert_eq!(events.len(), 5, "{events:?}");
    for (event, part) in events.iter().zip([
        "otp_required",
        "wrong_otp",
        "login_ok",
        "session_created",
        "session_created",
    ]) {
        assert!(event.contains(part), "{events:?}");
    }
    assert!(
        !events.iter().any(|event| event.contains("rgp_")),
        "{events:?}"
    );
}
