//! Tests of second factors and password links.

use super::{App, POLICY, basic_check, origin, sessions::created};
use crate::{
    accounts::{
        AccountError, Policy, Requirement, SessionRequest, users::second_factor::SecondFactorStatus,
    },
    second_factor::{Issuer, Mode, SecondFactorKeys, SecondFactorPolicy, code_at},
    tokens::NewPasswordLink,
};
use data_encoding::BASE32_NOPAD;
use rolegate_proto::{Reason, Role};
use secrecy::{ExposeSecret as _, SecretString};
use std::sync::Arc;

const NOW: u64 = super::NOW;

pub(super) fn policy(mode: Mode) -> Policy {
    let keys = SecondFactorKeys::new(&["k".repeat(32).into()]).expect("a key");
    let second_factor = SecondFactorPolicy {
        mode,
        keys: Some(Arc::new(keys)),
    };
    Policy {
        second_factor,
        ..POLICY
    }
}

/// A user who was enrolled at [`NOW`], with the secret and the recovery codes.
pub(super) struct EnrolledUser {
    pub(super) app: App,
    token: String,
    secret: Vec<u8>,
    codes: Vec<SecretString>,
}

/// The secret and the codes of a second factor that is not turned on yet.
struct Begun {
    secret: Vec<u8>,
    codes: Vec<SecretString>,
}

async fn begin(app: &App, token: &str) -> Begun {
    let begun = app
        .users
        .begin_second_factor(token, "sesame".into(), origin(1))
        .await;
    let (enrolment, user) = begun.expect("begun");
    let issuer = Issuer::parse(None).expect("the default");
    let shown = enrolment.authenticator_secret(&issuer, &user.username);
    let secret = BASE32_NOPAD.decode(shown.base32.expose_secret().as_bytes());
    Begun {
        secret: secret.expect("base32"),
        codes: enrolment.recovery_codes,
    }
}

impl EnrolledUser {
    pub(super) async fn new(mode: Mode) -> Self {
        let app = App::new(policy(mode)).await;
        app.register("ann").await.expect("registered");
        let token = app.login("ann", "sesame").await.expect("logged in");
        Self::enrol(app, token).await
    }

    async fn enrol(app: App, token: String) -> Self {
        let Begun { secret, codes } = begin(&app, &token).await;
        let on = app
            .users
            .turn_on_second_factor(&token, &code_at(&secret, NOW))
            .await;
        on.expect("on");
        Self {
            app,
            token,
            secret,
            codes,
        }
    }

    pub(super) async fn login(&self, otp: Option<&str>) -> Result<String, Reason> {
        let login = self
            .app
            .authenticator
            .login("ann", "sesame".into(), otp, origin(1))
            .await;
        login
            .map(|issued| issued.access_token.expose_secret().to_owned())
            .map_err(|error| error.reason())
    }

    /// Returns the recovery code with this number.
    pub(super) fn code(&self, number: usize) -> String {
        self.codes[number].expose_secret().to_owned()
    }

    /// Moves the clock of the store to this time, and returns the one-time code for it.
    pub(super) fn otp(&self, at: u64) -> String {
        self.app.store.set_time(at);
        code_at(&self.secret, at)
    }
}

fn reason<T>(outcome: Result<T, AccountError>) -> Option<Reason> {
    outcome.err().map(|error| error.reason())
}

#[tokio::test]
async fn a_login_needs_a_code_and_each_code_is_accepted_once() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    assert_eq!(ann.login(None).await, Err(Reason::OtpRequired));
    assert_eq!(
        ann.login(Some(&code_at(&ann.secret, NOW))).await,
        Err(Reason::OtpInvalid),
        "used"
    );
    let otp = ann.otp(NOW + 30);
    ann.login(Some(&otp)).await.expect("a right code");
    assert_eq!(ann.login(Some(&otp)).await, Err(Reason::OtpInvalid), "used");
    ann.app.store.set_time(NOW + 5);
    assert_eq!(
        ann.login(Some(&otp)).await,
        Err(Reason::OtpInvalid),
        "the clock was set back"
    );
    let code = ann.codes[3].expose_secret();
    ann.login(Some(code)).await.expect("a recovery code");
    assert_eq!(ann.login(Some(code)).await, Err(Reason::OtpInvalid), "used");
    let wrong = ann
        .app
        .authenticator
        .login("ann", "wrong".into(), Some(code), origin(1))
        .await;
    assert_eq!(reason(wrong), Some(Reason::CredentialsInvalid));
}

#[tokio::test]
async fn tokens_from_before_end_and_later_ones_are_valid() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let authorize = async |token: &str| {
        reason(
            ann.app
                .authorizer
                .authorize(token, &Requirement::AnyAuthenticated)
                .await,
        )
    };
    assert_eq!(authorize(&ann.token).await, Some(Reason::TokenInvalid));
    let otp = ann.otp(NOW + 30);
    assert_eq!(
        authorize(&ann.login(Some(&otp)).await.expect("a right code")).await,
        None
    );
    let request = SessionRequest::default();
    let otp = ann.otp(NOW + 60);
    let app = &ann.app;
    ann.app.store.revoke_before_next_token();
    let made = app
        .authenticator
        .create_session("ann", "sesame".into(), request, Some(&otp), origin(1))
        .await;
    created(made).expect("checked twice, because tokens were revoked meanwhile, with one code");
}

#[tokio::test]
async fn the_session_that_turns_it_on_goes_on_and_an_access_token_ends() {
    let app = App::new(policy(Mode::Optional)).await;
    app.register("ann").await.expect("registered");
    let (own, _) = app.session().await;
    let (other, _) = app.session().await;
    let token = app.login("ann", "sesame").await.expect("logged in");
    let secret = begin(&app, &own).await.secret;
    let otp = code_at(&secret, NOW);
    let on = app.users.turn_on_second_factor(&own, &otp);
    on.await.expect("on");
    assert!(app.is_accepted(&own).await);
    for ended in [&other, &token] {
        assert!(!app.is_accepted(ended).await);
    }
    // The session stays valid for its user, even for requests that need the second factor.
    app.store.set_time(NOW + 30);
    let otp = code_at(&secret, NOW + 30);
    let off = app.users.turn_off_second_factor(&own, None, &otp);
    off.await.expect("off");
}

#[tokio::test]
async fn basic_refuses_enrolled_users_also_from_the_cache() {
    let app = App::new(policy(Mode::Optional)).await;
    app.register("ann").await.expect("registered");
    app.verify("ann", "sesame").await.expect("and cached");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let ann = EnrolledUser::enrol(app, token).await;
    assert_eq!(
        reason(ann.app.verify("ann", "sesame").await),
        Some(Reason::OtpRequired)
    );
    let recalled = ann.app.recall(vec![basic_check("ann", "sesame", 1)]).await;
    assert_eq!(recalled, [None]);
    assert_eq!(
        reason(ann.app.verify("ann", "wrong").await),
        Some(Reason::CredentialsInvalid)
    );
}

/// A text that has the form of a recovery code and is no code of any user.
const WRONG_RECOVERY_CODE: &str = "aaaaa-aaaaa-aaaaa-aaaaa-aaaaaa";

#[tokio::test]
async fn ten_wrong_one_time_codes_refuse_all_of_them_for_an_hour_from_the_first() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    for wrong in 0..10 {
        let codes = ["000000", "-", "x"];
        let outcome = ann.login(Some(codes[wrong % codes.len()])).await;
        assert_eq!(outcome, Err(Reason::OtpInvalid), "{wrong}");
    }
    let otp = ann.otp(NOW + 3570);
    for code in [&*otp, "000000", "-"] {
        assert_eq!(
            ann.login(Some(code)).await,
            Err(Reason::TooManyAttempts),
            "{code}"
        );
    }
    assert_eq!(
        ann.login(Some(WRONG_RECOVERY_CODE)).await,
        Err(Reason::OtpInvalid)
    );
    let code = ann.codes[0].expose_secret();
    ann.login(Some(code)).await.expect("a recovery code");
    let otp = ann.otp(NOW + 3600);
    ann.login(Some(&otp)).await.expect("after an hour");
}

#[tokio::test]
async fn a_hundred_wrong_recovery_codes_refuse_only_recovery_codes_for_an_hour() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    for wrong in 0..100 {
        let outcome = ann.login(Some(WRONG_RECOVERY_CODE)).await;
        assert_eq!(outcome, Err(Reason::OtpInvalid), "{wrong}");
    }
    for code in [ann.codes[0].expose_secret(), WRONG_RECOVERY_CODE] {
        assert_eq!(
            ann.login(Some(code)).await,
            Err(Reason::TooManyAttempts),
            "{code}"
        );
    }
    let otp = ann.otp(NOW + 30);
    ann.login(Some(&otp)).await.expect("a one-time code");
    ann.app.store.set_time(NOW + 3600);
    let code = ann.codes[0].expose_secret();
    ann.login(Some(code)).await.expect("after an hour");
}

#[tokio::test]
async fn wrong_codes_of_a_signed_in_caller_block_no_sign_in_and_are_limited() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let otp = ann.otp(NOW + 30);
    let stolen = ann.login(Some(&otp)).await.expect("logged in");
    let app = &ann.app;
    let off = async |otp: &str| {
        let off = app.users.turn_off_second_factor(&stolen, None, otp);
        reason(off.await)
    };
    for (tries, wrong) in [(10, "000000"), (100, WRONG_RECOVERY_CODE)] {
        for _ in 0..tries {
            assert_eq!(off(wrong).await, Some(Reason::OtpWrong), "{wrong}");
        }
        assert_eq!(off(wrong).await, Some(Reason::TooManyAttempts), "{wrong}");
    }
    let otp = ann.otp(NOW + 60);
    let (first, second) = (ann.codes[0].expose_secret(), ann.codes[1].expose_secret());
    for right in [&*otp, first] {
        assert_eq!(off(right).await, Some(Reason::TooManyAttempts), "{right}");
    }
    ann.login(Some(&otp)).await.expect("a one-time code");
    ann.login(Some(first)).await.expect("a recovery code");
    let otp = ann.otp(NOW + 30 + 3600);
    let own = ann.login(Some(&otp)).await.expect("logged in");
    let off = app.users.turn_off_second_factor(&own, None, second);
    assert_eq!(reason(off.await), None, "after an hour");
}

#[tokio::test]
async fn wrong_codes_at_sign_in_block_no_confirmation() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let otp = ann.otp(NOW + 30);
    let token = ann.login(Some(&otp)).await.expect("logged in");
    for _ in 0..10 {
        let outcome = ann.login(Some("000000")).await;
        assert_eq!(outcome, Err(Reason::OtpInvalid));
    }
    let otp = ann.otp(NOW + 60);
    assert_eq!(ann.login(Some(&otp)).await, Err(Reason::TooManyAttempts));
    let off = ann.app.users.turn_off_second_factor(&token, None, &otp);
    assert_eq!(reason(off.await), None);
}

#[tokio::test]
async fn wrong_codes_that_should_turn_it_on_are_limited_and_block_no_sign_in() {
    let app = App::new(policy(Mode::Optional)).await;
    app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let secret = begin(&app, &token).await.secret;
    let on =
        async |token: &str, otp: &str| reason(app.users.turn_on_second_factor(token, otp).await);
    for wrong in 0..10 {
        let codes = ["000000", WRONG_RECOVERY_CODE, "x"];
        let outcome = on(&token, codes[wrong % codes.len()]).await;
        assert_eq!(outcome, Some(Reason::OtpWrong), "{wrong}");
    }
    let otp = code_at(&secret, NOW);
    assert_eq!(on(&token, &otp).await, Some(Reason::TooManyAttempts));
    let later = NOW + 3600;
    app.store.set_time(later);
    let token = app.login("ann", "sesame").await.expect("logged in");
    for wrong in 0..9 {
        let outcome = on(&token, "000000").await;
        assert_eq!(outcome, Some(Reason::OtpWrong), "{wrong}");
    }
    assert_eq!(on(&token, &code_at(&secret, later)).await, None);
    for wrong in 0..10 {
        let login = app
            .authenticator
            .login("ann", "sesame".into(), Some("000000"), origin(1))
            .await;
        assert_eq!(reason(login), Some(Reason::OtpInvalid), "{wrong}");
    }
}

#[tokio::test]
async fn it_is_turned_off_by_a_code_or_an_admin_and_never_by_a_key() {
    let ann = EnrolledUser::new(Mode::Optional).await;
    let (app, admin) = (&ann.app, &ann.app.admin);
    let otp = ann.otp(NOW + 30);
    let token = ann.login(Some(&otp)).await.expect("logged in");
    let off = async |token: &str, id, otp: &str| {
        reason(app.users.turn_off_second_factor(token, id, otp).await)
    };
    assert_eq!(
        off(&token, None, &otp).await,
        Some(Reason::OtpWrong),
        "used"
    );
    assert_eq!(
        off(admin, None, &otp).await,
        Some(Reason::SecondFactorState)
    );
    assert_eq!(
        off(&token, Some(1), "").await,
        Some(Reason::RoleInsufficient)
    );
    assert_eq!(off(admin, Some(1), "").await, Some(Reason::OwnSecondFactor));
    assert_eq!(off(admin, Some(999), "").await, Some(Reason::UserNotFound));
    assert_eq!(
        app.users.second_factor_status(&token).await.expect("read"),
        SecondFactorStatus {
            is_on: true,
            recovery_codes: 10
        }
    );
    assert_eq!(off(&token, None, ann.codes[0].expose_secret()).await, None);
    assert_eq!(
        app.users.second_factor_status(&token).await.expect("read"),
        SecondFactorStatus {
            is_on: false,
            recovery_codes: 0
        }
    );
    ann.login(None).await.expect("without a code");
    let ann = EnrolledUser::enrol(ann.app, token).await;
    assert_eq!(
        reason(
            ann.app
                .users
                .turn_off_second_factor(&ann.app.admin, Some(2), "")
                .await
        ),
        None
    );
    ann.login(None).await.expect("without a code");
}

#[tokio::test]
async fn blank_text_in_place_of_a_code_is_none_and_counts_as_no_wrong_one() {
    let app = App::new(policy(Mode::Optional)).await;
    app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let Begun { secret, codes } = begin(&app, &token).await;
    for blank in ["", " ", "\u{a0}\n", "\u{200b}"].repeat(5) {
        let on = app.users.turn_on_second_factor(&token, blank).await;
        assert_eq!(reason(on), Some(Reason::OtpWrong), "{blank:?}");
    }
    let otp = code_at(&secret, NOW);
    let on = app.users.turn_on_second_factor(&token, &otp).await;
    on.expect("no code was wrong");
    let ann = EnrolledUser {
        app,
        token,
        secret,
        codes,
    };
    for blank in ["", " ", "\u{a0}\n", "\u{200b}"].repeat(5) {
        assert_eq!(
            ann.login(Some(blank)).await,
            Err(Reason::OtpRequired),
            "{blank:?}"
        );
    }
    let otp = ann.otp(NOW + 30);
    let token = ann.login(Some(&otp)).await.expect("no code was wrong");
    let off = async |otp| {
        reason(
            ann.app
                .users
                .turn_off_second_factor(&token, None, otp)
                .await,
        )
    };
    for blank in ["", " ", "\u{a0}\n", "\u{200b}"].repeat(5) {
        assert_eq!(off(blank).await, Some(Reason::OtpWrong), "{blank:?}");
    }
    let otp = ann.otp(NOW + 60);
    let spaced = format!("{} {}", &otp[..3], &otp[3..]);
    assert_eq!(off(&spaced).await, None, "no code was wrong");
}

#[tokio::test]
async fn it_begins_with_the_password_and_asks_for_nothing_yet() {
    let app = App::new(policy(Mode::Optional)).await;
    let users = &app.users;
    app.register("ann").await.expect("registered");
    let token = app.login("ann", "sesame").await.expect("logged in");
    let begin = async |password: &str| {
        users
            .begin_second_factor(&token, password.into(), origin(1))
            .await
    };
    assert_eq!(
        reason(begin("wrong").await),
        Some(Reason::CurrentPasswordWrong)
    );
    let on = users.turn_on_second_factor(&token, "000000").await;
    assert_eq!(reason(on), Some(Reason::SecondFactorState));
    begin("sesame").await.expect("begun");
    app.login("ann", "sesame").await.expect("without a code");
    let on = users.turn_on_second_factor(&token, "00000").await;
    assert_eq!(reason(on), Some(Reason::OtpWrong));
    for policy in [policy(Mode::Off), POLICY] {
        let app = App::new(policy).await;
        let refused = app
            .users
            .begin_second_factor(&app.admin, "sesame".into(), origin(1))
            .await;
        assert_eq!(
            reason(refused.map(drop)),
            Some(Reason::SecondFactorUnavailable)
        );
    }
}

#[tokio::test]
async fn admins_are_admins_with_a_second_factor_where_they_need_one() {
    let app = App::new(policy(Mode::Admins)).await;
    let admin = app.admin.clone();
    let authorize = async |token: &str, roles: &[Role]| reason(app.authorize(token, roles).await);
    assert_eq!(
        authorize(&admin, &[Role::ADMIN]).await,
        Some(Reason::SecondFactorRequired)
    );
    let writers = [Role::AUTHOR, Role::ADMIN];
    assert_eq!(
        authorize(&admin, &writers).await,
        Some(Reason::SecondFactorRequired)
    );
    assert_eq!(
        authorize(&admin, &[Role::AUTHOR]).await,
        Some(Reason::RoleInsufficient)
    );
    let any = app
        .authorizer
        .authorize(&admin, &Requirement::AnyAuthenticated)
        .await;
    let actor = any.expect("may enrol");
    assert_eq!(
        (actor.user.role, actor.ineffective_role),
        (Role::USER, Some(Role::ADMIN))
    );
    let checked = app
        .authenticator
        .verify_credentials(basic_check("admin", "sesame", 1))
        .await;
    let verified = checked.expect("checked");
    assert_eq!(
        (verified.user.role, verified.ineffective_role),
        (Role::USER, Some(Role::ADMIN))
    );
    let ann = EnrolledUser::enrol(app, admin).await;
    let otp = ann.otp(NOW + 30);
    let login = ann
        .app
        .authenticator
        .login("admin", "sesame".into(), Some(&otp), origin(1))
        .await;
    let issued = login.expect("logged in");
    assert_eq!(issued.user.role, Role::ADMIN);
    ann.app
        .authorize(issued.access_token.expose_secret(), &[Role::ADMIN])
        .await
        .expect("an admin");
}

#[tokio::test]
async fn a_link_sets_a_password_by_the_rules_and_bad_ones_are_limited() {
    let app = App::new(policy(Mode::Optional)).await;
    let ann = app.register("ann").await.expect("registered");
    let admin = &app.admin;
    let make = async |id| app.users.create_password_link(admin, id).await;
    assert_eq!(reason(make(1).await), Some(Reason::OwnPassword));
    assert_eq!(reason(make(999).await), Some(Reason::UserNotFound));
    let NewPasswordLink {
        token: link,
        expires_at,
        ..
    } = make(ann.id).await.expect("made");
    assert_eq!(expires_at, NOW + 86_400);
    let redeem = async |token: &str, password: &str, client| {
        let token = token.to_owned();
        reason(
            app.users
                .redeem_password_link(&token, password.into(), origin(client))
                .await,
        )
    };
    let link = link.expose_secret();
    assert_eq!(redeem(link, "no", 1).await, Some(Reason::PasswordInvalid));
    app.store.set_time(expires_at);
    assert_eq!(
        redeem(link, "open sesame", 1).await,
        Some(Reason::LinkInvalid),
        "expired"
    );
    app.store.set_time(NOW);
    assert_eq!(redeem(link, "open sesame", 1).await, None);
    app.login("ann", "open sesame").await.expect("the new one");
    for bad in [link, "", "rgl_", &link.replace("rgl_", "rgs_")] {
        assert_eq!(
            redeem(bad, "open sesame", 2)
                .await
                .map(|it| it == Reason::TooManyAttempts),
            Some(bad.starts_with("rgs_")),
            "{bad}"
        );
    }
    app.set_disabled(ann.id, true).await;
    let link = make(ann.id).await.expect("made").token;
    assert_eq!(
        redeem(link.expose_secret(), "open sesame", 3).await,
        Some(Reason::LinkInvalid)
    );
}

#[tokio::test]
async fn where_admins_set_no_passwords_they_make_links() {
    let app = App::new(Policy {
        admins_set_passwords: false,
        ..POLICY
    })
    .await;
    let ann = app.register("ann").await.expect("users choose their own");
    let admin = &app.admin;
    let set = app
        .users
        .set_password(admin, ann.id, "sesame".into(), origin(1))
        .await;
    assert_eq!(reason(set), Some(Reason::PasswordLinkRequired));
    let create = async |password| {
        app.users
            .create_user(admin, "bob", password, Ok(Role::AUTHOR), origin(1))
            .await
    };
    assert_eq!(
        reason(create(Some("sesame".into())).await),
        Some(Reason::PasswordLinkRequired)
    );
    let created = create(None).await.expect("created");
    assert_eq!(created.user.role, Role::AUTHOR);
    assert_eq!(
        reason(app.login("bob", "").await),
        Some(Reason::CredentialsInvalid)
    );
    let link = created.link.expect("a link").token;
    let redeemed = app
        .users
        .redeem_password_link(link.expose_secret(), "sesame".into(), origin(1));
    redeemed.await.expect("redeemed");
    app.login("bob", "sesame").await.expect("the chosen one");
}
