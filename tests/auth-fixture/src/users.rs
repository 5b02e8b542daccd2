//! The users of the tests. They are created once in each process, and each service gets a copy of their database.
//!
//! The users `user`, `author` and `admin` have the role of that name, and so do their credentials. Every password is
//! `right`, except that of `müller`. The second factors of `author` and `enrolled` are on, and `user` has begun to
//! enroll one.

use crate::service::AuthFixture;
use data_encoding::BASE32_NOPAD;
use ring::hmac;
use rolegate_auth_client::{
    ActingClient, AuthClient, CallContext, CallError, NewSession, SecondFactorEnrolment,
    SessionUse, SignInStep, TwoStepSignIn,
    auth_v1::{CreateApiKeyRequest, DeleteUserRequest, EnableSecondFactorRequest},
};
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    collections::HashMap,
    fs,
    sync::LazyLock,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};
use tempfile::TempDir;
use tokio::runtime::Builder;

const STEP_SECONDS: u64 = 30;

/// The users besides `admin`, whose id is 1, in the order of their ids, which begin at 2.
const USERS: [(&str, &str); 11] = [
    ("user", "user"),
    ("author", "author"),
    ("deleted", "user"),
    ("ann", "user"),
    ("enrolled", "user"),
    ("jörg", "user"),
    ("bea@corp.example", "user"),
    ("a+b@corp, 1", "user"),
    ("a@b@c", "user"),
    ("müller", "user"),
    ("second-admin", "admin"),
];

static TEMPLATE: LazyLock<Template> =
    LazyLock::new(|| thread::spawn(Template::create).join().expect("users"));

/// The database with the users, and the credentials that the service issued for them.
struct Template {
    folder: TempDir,
    credentials: Credentials,
}

#[derive(Default)]
struct Credentials {
    tokens: HashMap<&'static str, SecretString>,
    second_factors: HashMap<&'static str, SecondFactorEnrolment>,
}

/// Starts a service with the users, and with these flags besides those that every test needs.
#[must_use]
pub fn start(flags: &[&str]) -> AuthFixture {
    let (service, _) = AuthFixture::start(copy_database(), flags);
    service
}

/// Copies the database with the users to a new folder.
fn copy_database() -> TempDir {
    let copy = TempDir::new().expect("a folder");
    for entry in fs::read_dir(TEMPLATE.folder.path()).expect("a folder") {
        let entry = entry.expect("a file");
        fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("copied");
    }
    copy
}

/// Returns the token of a credential, which has one of these names:
///
/// - `user`, `author`, `admin` and `deleted` are access tokens. The user of the last one is deleted.
/// - `rgs_user` and `rgs_admin` are sessions for the API. Each was created together with a session for applications,
///   which is `rgs_app_user` or `rgs_app_admin`.
/// - `rgd_user` is a session for the cookie of a domain.
/// - `rgk_user` and `rgk_admin` are API keys.
/// - `rgl_good` is the password link of `ann`.
#[must_use]
pub fn credential(name: &str) -> Option<&'static str> {
    let token = TEMPLATE.credentials.tokens.get(name)?;
    Some(token.expose_secret())
}

/// Returns the name of a credential, or the token itself if it has none.
#[must_use]
pub fn credential_name(token: &str) -> &str {
    let mut credentials = TEMPLATE.credentials.tokens.iter();
    credentials
        .find(|(_, issued)| issued.expose_secret() == token)
        .map_or(token, |(name, _)| name)
}

/// Returns one of the nine recovery codes of `author`, or of the ten of `enrolled`, which nobody has used yet.
#[must_use]
pub fn recovery_code(username: &str, index: usize) -> &'static str {
    TEMPLATE.credentials.second_factors[username].recovery_codes[index].expose_secret()
}

/// Returns the one-time code that an authenticator application shows now.
#[must_use]
pub fn one_time_code(username: &str) -> String {
    totp(&TEMPLATE.credentials.second_factors[username])
}

impl Template {
    fn create() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build();
        let folder = TempDir::new().expect("a folder");
        let creation = async {
            let (service, thread) = AuthFixture::start(folder, &["--default-admin-password=right"]);
            let credentials = create_users(service.client()).await;
            (credentials.expect("users"), thread)
        };
        let (credentials, thread) = runtime.expect("a runtime").block_on(creation);
        Self {
            folder: thread.join().expect("the service has stopped"),
            credentials,
        }
    }
}

/// Creates the users and their credentials. The second factors come before the tokens, because they revoke earlier
/// ones.
async fn create_users(client: AuthClient) -> Result<Credentials, CallError> {
    let mut credentials = Credentials::default();
    let admin = login(&client, "admin", None).await?;
    let acting_admin = acting(&client, &admin);
    let mut ids = HashMap::new();
    for (name, role) in USERS {
        let (user, _) = acting_admin
            .create_user(name, Some(&password_of(name)), role.to_owned())
            .await?;
        ids.insert(name, user.id);
    }
    for name in ["user", "author", "enrolled"] {
        let actor = acting(&client, &login(&client, name, None).await?);
        let enrolment = actor
            .enrol_second_factor(name, &password_of(name), None)
            .await?;
        if name != "user" {
            let otp = totp(&enrolment);
            actor.send(EnableSecondFactorRequest { otp }).await?;
        }
        credentials.second_factors.insert(name, enrolment);
    }
    let link = acting_admin.create_password_link(ids["ann"]).await?;
    let tokens = &mut credentials.tokens;
    tokens.insert("rgl_good", link.token);
    let code = &credentials.second_factors["author"].recovery_codes[0];
    let author = login(&client, "author", Some(code.expose_secret())).await?;
    tokens.insert("author", author);
    tokens.insert("deleted", login(&client, "deleted", None).await?);
    let user_id = ids["deleted"];
    acting_admin.send(DeleteUserRequest { user_id }).await?;
    let user = login(&client, "user", None).await?;
    tokens.insert("rgk_user", api_key(&acting(&client, &user), "user").await?);
    tokens.insert("user", user);
    let pair = SessionUse::ApiAndApplication;
    let session = sign_in(&client, "user", pair).await?;
    tokens.insert("rgs_user", session.token);
    let for_applications = session.application_token.ok_or(CallError::Malformed)?;
    tokens.insert("rgs_app_user", for_applications);
    let session = sign_in(&client, "user", SessionUse::Domain).await?;
    tokens.insert("rgd_user", session.token);
    let session = sign_in(&client, "admin", pair).await?;
    tokens.insert("rgs_admin", session.token);
    let for_applications = session.application_token.ok_or(CallError::Malformed)?;
    tokens.insert("rgs_app_admin", for_applications);
    tokens.insert("rgk_admin", api_key(&acting_admin, "admin").await?);
    tokens.insert("admin", admin);
    Ok(credentials)
}

fn password_of(username: &str) -> SecretString {
    let has_colons = username == "müller";
    if has_colons { "ri:ght:" } else { "right" }.into()
}

async fn login(
    client: &AuthClient,
    name: &str,
    otp: Option<&str>,
) -> Result<SecretString, CallError> {
    let (token, _) = client
        .login(name, &password_of(name), otp, CallContext::default())
        .await?;
    Ok(token)
}

fn acting(client: &AuthClient, token: &SecretString) -> ActingClient {
    let context = CallContext::default();
    client.clone().acting_for(token.clone(), context)
}

async fn sign_in(
    client: &AuthClient,
    name: &str,
    session_use: SessionUse,
) -> Result<NewSession, CallError> {
    let step = client
        .create_session(
            name,
            &password_of(name),
            None,
            None,
            None,
            session_use,
            TwoStepSignIn::default(),
            CallContext {
                client_address: Some([203, 0, 113, 9].into()),
                ..CallContext::default()
            },
        )
        .await?;
    match step {
        SignInStep::Done(session) => Ok(session),
        SignInStep::CodeNeeded(_) => Err(CallError::Malformed),
    }
}

async fn api_key(actor: &ActingClient, role: &str) -> Result<SecretString, CallError> {
    let request = CreateApiKeyRequest {
        name: "nightly export".to_owned(),
        role_name: Some(role.to_owned()),
        ..CreateApiKeyRequest::default()
    };
    let (key, _) = actor.create_api_key(request).await?;
    Ok(key)
}

/// Computes the code that an authenticator application shows now, by RFC 6238.
fn totp(enrolment: &SecondFactorEnrolment) -> String {
    let secret = enrolment.secret.expose_secret().as_bytes();
    let secret = BASE32_NOPAD.decode(secret).expect("base32");
    #[expect(
        clippy::disallowed_methods,
        reason = "an authenticator application has a clock of its own"
    )]
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let step = now.expect("a time after 1970").as_secs() / STEP_SECONDS;
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let digest = hmac::sign(&key, &step.to_be_bytes());
    let digest = digest.as_ref();
    let offset = usize::from(digest[19] & 15);
    let number = digest[offset..offset + 4]
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte));
    format!("{:06}", (number & 0x7fff_ffff) % 1_000_000)
}
