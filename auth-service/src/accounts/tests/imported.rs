//! Tests of users with password hashes from other systems.

use super::{App, POLICY, basic_check};
use secrecy::ExposeSecret;
use std::time::{Duration, Instant};

/// The hash of "corréct horse" that argon2-cffi created.
const ARGON2I: &str = "$argon2i$v=19$m=1024,t=3,p=4$rXVOyVlrTcm5V+r9n5Oylg$EceDiYZz5d2nfZqktTmjACCB4eEBIfYZsZxNGL/FGEw";
const PASSWORD: &str = "corréct horse";

async fn stored(app: &App) -> String {
    let found = app
        .store
        .credentials_by_username(&["ann".to_owned()], &[])
        .await
        .expect("read")
        .value;
    found[0].password_hash.expose_secret().to_owned()
}

#[tokio::test]
async fn basic_checks_an_imported_hash_and_login_replaces_it() {
    let app = App::new(POLICY).await;
    app.insert_user("ann", ARGON2I).await;

    let basic = |password: &'static str| {
        app.authenticator
            .verify_credentials(basic_check("ann", password, 1))
    };
    assert!(basic("wrong").await.is_err());
    for _ in 0..2 {
        assert!(basic(PASSWORD).await.is_ok(), "checked, then cached");
    }
    assert!(app.login("ann", "wrong").await.is_err());
    assert_eq!(
        stored(&app).await,
        ARGON2I,
        "only a correct password replaces it"
    );

    app.login("ann", PASSWORD).await.expect("logged in");
    let patience = Instant::now() + Duration::from_mins(1);
    while stored(&app).await == ARGON2I {
        assert!(Instant::now() < patience, "never replaced");
        tokio::task::yield_now().await;
    }
    assert!(stored(&app).await.starts_with("$2b$04$"));
    app.login("ann", PASSWORD).await.expect("by bcrypt");
    assert!(basic(PASSWORD).await.is_ok());
    assert!(basic("wrong").await.is_err());
}
