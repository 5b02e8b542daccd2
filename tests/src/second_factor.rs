//! Second factors, as users and their phones have them.

use crate::{
    Api, TestDatabase, TestResponse, TestUser,
    token::now,
    totp::{STEP, Totp},
};
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use std::fs;

/// The path at which users turn on their own second factor.
pub const PATH: &str = "/profile/second-factor";

/// A second factor that was begun, as the user sees it.
#[derive(Clone, Debug)]
pub struct SecondFactor {
    /// The secret, for computing codes.
    pub totp: Totp,
    /// The secret in base32.
    pub secret: String,
    /// The secret as a URL for authenticator applications.
    pub otpauth_url: String,
    /// The recovery codes. Each is good once.
    pub recovery_codes: Vec<String>,
}

impl SecondFactor {
    /// Reads the second factor from the response that shows it, once.
    ///
    /// # Panics
    ///
    /// Panics if the response does not have the documented form.
    #[track_caller]
    pub fn of(response: &TestResponse) -> Self {
        let body = response.expect(201).json();
        let text = |field: &str| body[field].as_str().expect(field).to_owned();
        let codes = body["recovery_codes"].as_array().expect("codes").iter();
        let recovery_codes = codes
            .map(|code| code.as_str().expect("a code").to_owned())
            .collect();
        let (secret, otpauth_url) = (text("secret"), text("otpauth_url"));
        assert_eq!(
            body.as_object().map(serde_json::Map::len),
            Some(3),
            "{response}"
        );
        Self {
            totp: Totp::of(&secret),
            secret,
            otpauth_url,
            recovery_codes,
        }
    }

    /// Returns the current code.
    #[must_use]
    pub fn code(&self) -> String {
        self.totp.at(now())
    }

    /// Returns the code of the next step, which is already valid. Use it after the current one was
    /// used.
    #[must_use]
    pub fn next_code(&self) -> String {
        self.totp.at(now() + STEP)
    }
}

impl TestUser {
    /// Begins a second factor with the access token.
    pub async fn begin_second_factor(&self, bearer: &Api) -> SecondFactor {
        let body = json!({ "current_password": self.password });
        SecondFactor::of(&bearer.with_token(&self.token).post(PATH, &body).await)
    }

    /// Turns on a second factor with the current code, which ends the access token.
    pub async fn turn_on_second_factor(&self, bearer: &Api) -> SecondFactor {
        let factor = self.begin_second_factor(bearer).await;
        let turned_on = bearer
            .with_token(&self.token)
            .put(PATH, &json!({ "otp": factor.code() }))
            .await;
        turned_on.expect_message("Second factor is on.");
        factor
    }

    /// Sends a login with a code.
    pub async fn try_code(&self, bearer: &Api, otp: &str) -> TestResponse {
        let body = json!({ "username": self.username, "password": self.password, "otp": otp });
        bearer.post("/login", &body).await
    }

    /// Logs in with a code.
    pub async fn log_in_with_code(&self, bearer: &Api, otp: &str) -> Self {
        Self::of_login(
            &self.try_code(bearer, otp).await,
            &self.username,
            &self.password,
        )
    }
}

impl TestDatabase {
    /// Makes used codes of all users valid again, as if they were used long ago. Forgets wrong
    /// codes.
    pub async fn forget_codes(&self) {
        self.execute(
            "UPDATE second_factor SET last_step = 0, wrong_codes = 0, wrong_recovery_codes = 0,
                wrong_confirmations = 0, wrong_recovery_confirmations = 0",
        )
        .await;
    }

    /// Returns what a copy of the users' tables contains: the rows as text, or the whole SQLite
    /// file.
    ///
    /// # Panics
    ///
    /// Panics if the tables or the file cannot be read.
    pub async fn copy_of_users(&self) -> Vec<u8> {
        const ROWS: &str = r#"SELECT t::text FROM "user" AS t
            UNION ALL SELECT t::text FROM second_factor AS t
            UNION ALL SELECT t::text FROM recovery_code AS t
            UNION ALL SELECT t::text FROM password_link AS t
            UNION ALL SELECT t::text FROM pending_sign_in AS t
            UNION ALL SELECT t::text FROM api_key AS t
            UNION ALL SELECT t::text FROM audit_pending AS t
            UNION ALL SELECT t::text FROM audit AS t"#;
        match self {
            Self::Postgres(database) => {
                let url = database.url().as_str();
                let mut connection = PgConnection::connect(url).await.expect("connected");
                let rows = sqlx::query_scalar::<_, String>(ROWS)
                    .fetch_all(&mut connection)
                    .await;
                rows.expect("rows").concat().into_bytes()
            }
            Self::Sqlite(_) => {
                let log = self.file().with_extension("db-wal");
                let log = fs::read(log).unwrap_or_default();
                [fs::read(self.file()).expect("the file"), log].concat()
            }
        }
    }
}
