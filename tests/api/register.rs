//! `POST /register`, with which people create their own accounts.

use e2e::{
    TestSetup, TestUser, for_all_deployments, for_one_deployment, for_two_deployments, token,
};
use serde_json::json;

for_all_deployments!(new_user_has_the_role_user, taken_username_is_rejected);
for_two_deployments!(
    usernames_are_compared_byte_for_byte,
    unusual_usernames_are_stored_unchanged,
    name_that_is_older_than_the_rule_on_invisible_characters_stays_usable,
    password_is_used_exactly_as_sent,
    only_the_bcrypt_hash_is_stored,
    one_of_64_concurrent_registrations_of_a_username_succeeds,
    name_admin_stays_taken_after_its_user_is_deleted,
);
for_one_deployment!(
    role_in_the_body_has_no_effect,
    invalid_username_is_rejected_with_the_rule,
    password_must_have_1_to_72_bytes,
);

async fn new_user_has_the_role_user(setup: TestSetup) {
    let app = setup.start().await;
    let response = app.try_register("ann", "a password").await;
    response.expect_message("User registered successfully.");
    assert_eq!(
        app.database.user("ann").await.expect("she is stored").role,
        "user"
    );
}

async fn taken_username_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    app.try_register("ann", "a password").await.expect(200);
    for (name, password) in [
        ("ann", "a password"),
        ("ann", "another password"),
        ("admin", "x"),
    ] {
        let response = app.try_register(name, password).await;
        response.expect_detail(400, "Username already exists.");
    }
    app.try_log_in("ann", "a password").await.expect(200);
    app.try_log_in("ann", "another password").await.expect(401);
}

async fn role_in_the_body_has_no_effect(setup: TestSetup) {
    let app = setup.start().await;
    let roles = [
        json!("admin"),
        json!("author"),
        json!("nonsense"),
        json!(7),
        json!(null),
    ];
    for (index, role) in roles.into_iter().enumerate() {
        let name = format!("climber {index}");
        let body = json!({ "username": name, "password": "pw", "role": role, "id": 1, "x": {} });
        app.bearer.post("/register", &body).await.expect(200);
        assert_eq!(
            app.database.user(&name).await.expect("stored").role,
            "user",
            "{body}"
        );
    }
}

async fn usernames_are_compared_byte_for_byte(setup: TestSetup) {
    let app = setup.start().await;
    for name in [
        "ann", "Ann", "ANN", "änn", "ann ann", "ａnn", "Admin", "аdmin",
    ] {
        app.try_register(name, "pw").await.expect(200);
    }
    app.try_log_in("aNN", "pw").await.expect(401);
    assert_eq!(app.database.count_users().await, 9);
}

async fn unusual_usernames_are_stored_unchanged(setup: TestSetup) {
    let app = setup.start().await;
    let longest = "x".repeat(255);
    let longest_of_two_bytes = format!("{}x", "é".repeat(127));
    let emoji = "👩‍👩‍👧 family";
    for name in [
        "x",
        "日本語",
        "Robert'); DROP TABLE \"user\";--",
        "%_\\",
        "{\"a\"}",
        emoji,
        "<b>&amp;",
    ] {
        let user = app.user(name).await;
        let profile = app.bearer.with_token(&user.token).get("/profile").await;
        profile.expect_json(
            200,
            &json!({ "message": format!("Welcome {name}!"), "role": "user" }),
        );
        assert_eq!(token::claims(&user.token)["username"], name);
    }
    for name in [longest, longest_of_two_bytes] {
        app.user(&name).await;
    }
}

async fn invalid_username_is_rejected_with_the_rule(setup: TestSetup) {
    let app = setup.start().await;
    let (too_long, too_many_bytes) = ("x".repeat(256), "é".repeat(128));
    let lengths = ["", &*too_long, &*too_many_bytes];
    let controls = [
        "a\0b", "\0", "a\u{1}", "a\u{7f}b", "a\u{85}b", "a\tb", "a\nb", "a\u{9f}",
    ];
    let spaces = [" a", "a ", "\u{a0}a", "a\u{3000}", " ", "\u{2003}a"];
    let colons = [":", "a:b", "a:"];
    let invisible = [
        "admin\u{200b}",
        "\u{feff}admin",
        "ad\u{ad}min",
        "\u{202e}nimda",
        "a\u{fe0f}",
        "admin\u{2800}",
        "ada\u{a0}lovelace",
    ];
    let (separator, unassigned) = ("a\u{2028}b", "a\u{378}");
    let invisible = [&invisible[..], &[separator, unassigned]].concat();
    let decomposed = ["e\u{301}", "\u{212b}", "\u{1100}\u{1161}"];
    for (rule, names) in [
        ("255 bytes", &lengths[..]),
        ("control characters", &controls),
        ("white space", &spaces),
        ("colon", &colons),
        ("normalization form C", &decomposed),
        ("invisible or unassigned characters", &invisible),
    ] {
        for name in names {
            let detail = app.try_register(name, "pw").await.expect_error(400);
            assert!(detail.contains(rule), "{name:?} was refused with: {detail}");
        }
    }
    assert_eq!(app.database.count_users().await, 1, "only the admin");
}

async fn name_that_is_older_than_the_rule_on_invisible_characters_stays_usable(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let old = "ann\u{200b}";
    app.database.rename("ann", old).await;
    let now = TestUser::log_in(&app.bearer, old, &ann.password).await;
    app.basic
        .with_basic(old, &ann.password)
        .get("/protected")
        .await
        .expect(200);
    let change = json!({ "current_password": ann.password, "new_password": "new" });
    let api = app.bearer.with_token(&now.token);
    api.put("/profile/password", &change).await.expect(200);
    let admin = app.admin().await;
    app.set_role(&admin, &ann, "author").await.expect(200);
    let api = app.bearer.with_token(&admin.token);
    let found = api.get("/users?username=ann%E2%80%8B").await;
    assert_eq!(found.expect(200).json()["users"][0]["username"], old);
    app.try_register(old, "pw").await.expect(400);
}

async fn password_must_have_1_to_72_bytes(setup: TestSetup) {
    let app = setup.start().await;
    let (longest, of_three_bytes) = ("p".repeat(72), "€".repeat(24));
    for (index, good) in ["p", &longest, &of_three_bytes, "\n\t", ":"]
        .into_iter()
        .enumerate()
    {
        let name = format!("good {index}");
        app.try_register(&name, good).await.expect(200);
        app.try_log_in(&name, good).await.expect(200);
        // For the longest password, bcrypt alone would ignore the added byte and let the login succeed.
        app.try_log_in(&name, &format!("{good}x")).await.expect(401);
    }
    let (too_long, too_many_bytes) = ("p".repeat(73), "€".repeat(25));
    for bad in [
        "",
        "\0",
        "pass\0word",
        "password\0",
        &too_long,
        &too_many_bytes,
    ] {
        let detail = app.try_register("bad", bad).await.expect_error(400);
        assert!(detail.contains("Password"), "{detail}");
        assert!(bad.is_empty() || !detail.contains(bad), "{detail}");
    }
    assert_eq!(app.database.user("bad").await, None);
}

async fn password_is_used_exactly_as_sent(setup: TestSetup) {
    let app = setup.start().await;
    for (index, password) in [" pw ", "PW", "e\u{301}", "\u{e9}"].into_iter().enumerate() {
        let name = format!("user {index}");
        app.try_register(&name, password).await.expect(200);
        for guess in [" pw ", "pw", "PW", "e\u{301}", "\u{e9}"] {
            let status = if guess == password { 200 } else { 401 };
            app.try_log_in(&name, guess).await.expect(status);
        }
    }
}

async fn only_the_bcrypt_hash_is_stored(setup: TestSetup) {
    let app = setup.start().await;
    for name in ["ann", "bob"] {
        app.try_register(name, "the same password")
            .await
            .expect(200);
    }
    let ann = app.database.user("ann").await.expect("stored").password;
    let bob = app.database.user("bob").await.expect("stored").password;
    assert!(ann.starts_with("$2b$04$") && ann.len() == 60, "{ann}");
    assert_ne!(ann, bob, "each hash has a salt of its own");
}

async fn one_of_64_concurrent_registrations_of_a_username_succeeds(setup: TestSetup) {
    let app = setup.start().await;
    let all: Vec<_> = (0..64)
        .map(|index| {
            let api = app.bearer.clone();
            tokio::spawn(async move {
                let password = format!("password {index}");
                let body = json!({ "username": "wanted", "password": password });
                (password, api.post("/register", &body).await)
            })
        })
        .collect();
    let mut winners = Vec::new();
    for one in all {
        let (password, response) = one.await.expect("the request was made");
        if response.status == 200 {
            response.expect_message("User registered successfully.");
            winners.push(password);
        } else {
            response.expect_detail(400, "Username already exists.");
        }
    }
    assert_eq!(winners.len(), 1, "{winners:?}");
    app.try_log_in("wanted", &winners[0]).await.expect(200);
    assert_eq!(app.database.count_users().await, 2);
}

async fn name_admin_stays_taken_after_its_user_is_deleted(setup: TestSetup) {
    let app = setup.start().await;
    let boss = app.user_with_role("boss", "admin").await;
    app.database
        .execute(r#"DELETE FROM "user" WHERE username = 'admin'"#)
        .await;
    let squatter = json!({ "username": "admin", "password": "a password" });
    for (api, path) in [
        (&app.bearer, "/register"),
        (&app.basic, "/register"),
        (&app.bearer.with_token(&boss.token), "/users"),
    ] {
        api.post(path, &squatter)
            .await
            .expect_detail(400, "Username already exists.");
    }
}
