//! The users of the benchmarks, identical in every store.

use crate::Failure;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use rolegate_auth_service::{
    tokens::{AccessTokens, Keyring, TOKEN_TTL_SECONDS},
    user::User,
};
use rolegate_proto::Role;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

/// The HS256 secret that signs the tokens.
pub(crate) const SIGNING_SECRET: &str = "a signing secret of more than 32 bytes";
/// The password of every user, including `admin`.
pub(crate) const PASSWORD: &str = "the password of every user";
/// The number of users.
pub(crate) const COUNT: usize = 10_000;
/// The first id of the users, which is above the ids that the services have assigned.
const FIRST_ID: i64 = 1001;

/// A user with a token.
#[derive(Clone, Debug)]
pub(crate) struct LoadUser {
    /// The username, which contains the id.
    pub(crate) username: String,
    /// An access token as a login issues it.
    pub(crate) token: String,
    role: Role,
}

impl LoadUser {
    /// Returns the expected body of `GET /profile`.
    pub(crate) fn profile(&self) -> Value {
        json!({ "message": format!("Welcome {}!", self.username), "role": self.role.as_str() })
    }

    /// Returns the `Authorization` header of the bearer variant.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// Returns the `Authorization` header of the Basic variant (RFC 7617).
    pub(crate) fn basic(&self) -> String {
        format!(
            "Basic {}",
            STANDARD.encode(format!("{}:{PASSWORD}", self.username))
        )
    }
}

/// Returns all users, with tokens that are valid for 30 minutes.
pub(crate) fn with_tokens() -> Result<Vec<LoadUser>, Failure> {
    with_tokens_among(COUNT, COUNT)
}

/// Returns `count` of the first `all` users, at even distances.
pub(crate) fn with_tokens_among(all: usize, count: usize) -> Result<Vec<LoadUser>, Failure> {
    let keyring = Keyring::new(&SecretString::from(SIGNING_SECRET), &[])?;
    let tokens = AccessTokens::new(keyring);
    let ids = (FIRST_ID..).step_by(all / count).take(count);
    ids.map(|id| with_token(id, &tokens)).collect()
}

fn with_token(id: i64, tokens: &AccessTokens) -> Result<LoadUser, Failure> {
    // The SQL below chooses roles and usernames in the same way.
    let role = if id % 10 == 0 {
        Role::AUTHOR
    } else {
        Role::USER
    };
    let username = format!("load-user-{id}");
    let user = User {
        id,
        username: username.clone(),
        role,
        tokens_not_before: 0,
        disabled: false,
        tokens_marked_until: 0,
        second_factor: false,
        created_at: None,
        until: None,
        memberships: Vec::new(),
        found_groups: Vec::new(),
    };
    let token = tokens.issue(&user, system_time())?;
    Ok(LoadUser {
        username,
        token: token.expose_secret().to_owned(),
        role,
    })
}

/// Returns invalid tokens, with the detail of their 401 responses.
pub(crate) fn invalid_tokens() -> Result<Vec<(String, &'static str)>, Failure> {
    const INVALID: &str = "Invalid or expired token.";
    let now = system_time();
    let signed = |id: i64, exp: u64, secret: &str| {
        let key = jsonwebtoken::EncodingKey::from_secret(secret.as_bytes());
        let claims = json!({ "sub": id.to_string(), "username": "x", "role": "admin", "exp": exp });
        jsonwebtoken::encode(&jsonwebtoken::Header::default(), &claims, &key)
    };
    let other_secret = "another secret of more than 32 bytes..";
    let soon = now + TOKEN_TTL_SECONDS;
    Ok(vec![
        ("not.a.token".to_owned(), INVALID),
        (signed(FIRST_ID, soon, other_secret)?, INVALID),
        (signed(FIRST_ID, now - 60, SIGNING_SECRET)?, INVALID),
        (
            signed(999_999_999, soon, SIGNING_SECRET)?,
            "User not found.",
        ),
    ])
}

/// Fills the table that auth-service has created.
pub(crate) async fn insert_into_postgresql(url: &str) -> Result<(), Failure> {
    insert_range(url, 0, COUNT).await
}

/// Inserts more users after [`insert_into_postgresql`], up to `count`.
pub(crate) async fn insert_more_into_postgresql(url: &str, count: usize) -> Result<(), Failure> {
    insert_range(url, COUNT, count).await
}

async fn insert_range(url: &str, from: usize, to: usize) -> Result<(), Failure> {
    let sql = r#"INSERT INTO "user" (id, username, password, role)
        SELECT n, 'load-user-' || n, $1, CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
        FROM generate_series($2, $3) AS n"#;
    let mut connection = PgConnection::connect(url).await?;
    let (first, last) = (
        FIRST_ID + i64::try_from(from)?,
        FIRST_ID + i64::try_from(to)? - 1,
    );
    let insert = sqlx::query(sql).bind(hash()?).bind(first).bind(last);
    insert.execute(&mut connection).await?;
    // Without a vacuum here, autovacuum would run during the measurement.
    sqlx::query(r#"VACUUM (ANALYZE) "user""#)
        .execute(&mut connection)
        .await?;
    Ok(connection.close().await?)
}

/// Fills the table that rolegate has created.
pub(crate) async fn insert_into_sqlite(file: &Path) -> Result<(), Failure> {
    let sql = r#"INSERT INTO "user" (id, username, password, role)
        WITH RECURSIVE series(n) AS (VALUES(?2) UNION ALL SELECT n + 1 FROM series WHERE n < ?3)
        SELECT n, 'load-user-' || n, ?1, CASE WHEN n % 10 = 0 THEN 'author' ELSE 'user' END
        FROM series"#;
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", file.display())).await?;
    let (first, last) = (FIRST_ID, FIRST_ID + i64::try_from(COUNT)? - 1);
    let insert = sqlx::query(sql).bind(hash()?).bind(first).bind(last);
    insert.execute(&mut connection).await?;
    Ok(connection.close().await?)
}

/// Returns the hash of [`PASSWORD`]. All users share it, because no benchmark depends on distinct hashes.
fn hash() -> Result<String, Failure> {
    Ok(bcrypt::hash_with_result(PASSWORD, 12)?.format_for_version(bcrypt::Version::TwoB))
}

#[expect(
    clippy::disallowed_methods,
    reason = "tokens end by the time of the machine here"
)]
fn system_time() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}
