//! Access tokens that are foreign, expired or malformed.

use e2e::{
    SIGNING_SECRET, TestApp, TestSetup, for_all_deployments, for_one_deployment,
    for_two_deployments,
    token::{self, Algorithm},
};
use reqwest::Method;
use serde_json::{Value, json};

for_all_deployments!(expired_token_is_rejected_to_the_second);
for_two_deployments!(token_without_kid_signed_with_our_secret_is_accepted);
for_one_deployment!(
    role_claim_has_no_effect,
    other_secrets_and_algorithms_are_rejected,
    unknown_kid_and_crit_are_rejected,
    sub_other_than_a_canonical_id_is_rejected,
    exp_other_than_an_integer_is_rejected,
    malformed_token_is_rejected,
    tampered_token_is_rejected,
);

const SECRET: &str = SIGNING_SECRET;

/// Asserts that every protected endpoint refuses this token.
async fn expect_refused(app: &TestApp, token: &str) {
    let api = app.bearer.with_token(token);
    for response in [
        api.get("/profile").await,
        api.get("/author").await,
        api.get("/admin").await,
        api.get("/users").await,
        api.get("/protected").await,
        api.get("/users/1").await,
        api.send(api.request(Method::DELETE, "/users/1")).await,
        api.put("/users/1/role", &json!({ "role": "user" })).await,
        api.put("/users/1/password", &json!({ "password": "new" }))
            .await,
        api.put(
            "/profile/password",
            &json!({ "current_password": "a", "new_password": "b" }),
        )
        .await,
    ] {
        let mut response = response;
        response.request = format!("{} with {:.300}", response.request, token);
        response.expect_detail(401, "Invalid or expired token.");
        response.expect_header("www-authenticate", Some("Bearer error=\"invalid_token\""));
    }
}

async fn expect_claims_refused(app: &TestApp, claims: &Value) {
    expect_refused(app, &token::signed(&token::plain_header(), claims, SECRET)).await;
}

/// Returns the claims of the admin, so that only the tested fault can cause a refusal.
async fn admin_claims(app: &TestApp) -> Value {
    token::claims_of(app.admin().await.id)
}

fn with(mut value: Value, name: &str, claim: Value) -> Value {
    value[name] = claim;
    value
}

fn without(mut value: Value, name: &str) -> Value {
    value.as_object_mut().expect("an object").remove(name);
    value
}

async fn token_without_kid_signed_with_our_secret_is_accepted(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    let minted = token::signed(&token::plain_header(), &claims, SECRET);
    let response = app.bearer.with_token(&minted).get("/admin").await;
    response.expect_message("Welcome Admin!");
    let without_typ = token::signed(&json!({ "alg": "HS256" }), &claims, SECRET);
    app.bearer
        .with_token(&without_typ)
        .get("/admin")
        .await
        .expect(200);
}

async fn role_claim_has_no_effect(setup: TestSetup) {
    let app = setup.start().await;
    let ann = app.user("ann").await;
    let claims = with(token::claims_of(ann.id), "role", json!("admin"));
    let claims = with(claims, "username", json!("admin"));
    let minted = token::signed(&token::plain_header(), &claims, SECRET);
    let api = app.bearer.with_token(&minted);
    api.get("/admin")
        .await
        .expect_detail(403, "Insufficient privileges.");
    let profile = json!({ "message": "Welcome ann!", "role": "user" });
    api.get("/profile").await.expect_json(200, &profile);
}

async fn expired_token_is_rejected_to_the_second(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    for exp in [token::now() - 1, token::now(), token::now() - 3600, 0, 1] {
        expect_claims_refused(&app, &with(claims.clone(), "exp", json!(exp))).await;
    }
}

async fn other_secrets_and_algorithms_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    let payload = claims.to_string();
    expect_refused(
        &app,
        &token::signed(&token::plain_header(), &claims, "another secret"),
    )
    .await;
    expect_refused(&app, &token::signed(&token::plain_header(), &claims, "")).await;
    for (name, algorithm) in [("HS384", Algorithm::Hs384), ("HS512", Algorithm::Hs512)] {
        let header = json!({ "typ": "JWT", "alg": name }).to_string();
        expect_refused(
            &app,
            &token::signed_text(&header, &payload, SECRET, algorithm),
        )
        .await;
    }
    // The signature is valid for HS256, and only `alg` differs.
    for name in [
        "none", "None", "NONE", "", "hs256", "HS384", "HS512", "RS256", "ES256", "EdDSA",
    ] {
        let signed = token::signed(&json!({ "typ": "JWT", "alg": name }), &claims, SECRET);
        let unsigned = &signed[..=signed.rfind('.').expect("a signature")];
        expect_refused(&app, &signed).await;
        expect_refused(&app, unsigned).await;
    }
    for header in [
        json!({}),
        json!({ "typ": "JWT" }),
        json!({ "alg": null }),
        json!(["HS256"]),
    ] {
        expect_refused(&app, &token::signed(&header, &claims, SECRET)).await;
    }
}

async fn unknown_kid_and_crit_are_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    for header in [
        with(token::plain_header(), "kid", json!("unknown")),
        with(token::plain_header(), "kid", json!("")),
        with(token::plain_header(), "kid", json!("../../../../dev/null")),
        with(token::plain_header(), "crit", json!(["exp"])),
        with(token::plain_header(), "crit", json!(["b64"])),
        with(token::plain_header(), "crit", json!([])),
        with(
            with(token::plain_header(), "b64", json!(false)),
            "crit",
            json!(["b64"]),
        ),
    ] {
        expect_refused(&app, &token::signed(&header, &claims, SECRET)).await;
    }
}

async fn sub_other_than_a_canonical_id_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let admin = app.admin().await;
    let claims = token::claims_of(admin.id);
    let id = admin.id;
    for sub in [
        format!("+{id}"),
        format!("0{id}"),
        format!("{id}.0"),
        format!("{id}.5"),
        format!(" {id}"),
        format!("{id} "),
        format!("{id}\n"),
        format!("{id}\0"),
        format!("{id}e0"),
        format!("0x{id}"),
        format!("-{id}-"),
        String::new(),
        "-".to_owned(),
        "-0".to_owned(),
        "admin".to_owned(),
        "١".to_owned(),
    ] {
        expect_claims_refused(&app, &with(claims.clone(), "sub", json!(sub))).await;
    }
    for sub in [
        json!(id),
        json!(null),
        json!([id.to_string()]),
        json!({}),
        json!(true),
    ] {
        expect_claims_refused(&app, &with(claims.clone(), "sub", sub)).await;
    }
    expect_claims_refused(&app, &without(claims.clone(), "sub")).await;
    // These are integers, but no user has them as an id.
    for sub in [
        "0",
        "-1",
        "999999999",
        "9223372036854775807",
        &"9".repeat(30),
    ] {
        let claims = with(claims.clone(), "sub", json!(sub));
        let minted = token::signed(&token::plain_header(), &claims, SECRET);
        let response = app.bearer.with_token(&minted).get("/profile").await;
        response.expect_detail(401, "User not found.");
    }
}

async fn exp_other_than_an_integer_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    let later = (token::now() + 60).to_string();
    for exp in [
        json!(later),
        json!(null),
        json!(-1),
        json!(true),
        json!([4e9]),
        json!({}),
    ] {
        expect_claims_refused(&app, &with(claims.clone(), "exp", exp)).await;
    }
    expect_claims_refused(&app, &without(claims.clone(), "exp")).await;
    let header = token::plain_header().to_string();
    let claims = without(claims, "exp").to_string();
    for exp in ["1e999", "NaN", "Infinity", "4e9x", "18446744073709551616"] {
        let payload = claims.replacen('{', &format!("{{\"exp\":{exp},"), 1);
        let minted = token::signed_text(&header, &payload, SECRET, Algorithm::Hs256);
        expect_refused(&app, &minted).await;
    }
}

async fn malformed_token_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let claims = admin_claims(&app).await;
    let good = token::signed(&token::plain_header(), &claims, SECRET);
    app.bearer
        .with_token(&good)
        .get("/profile")
        .await
        .expect(200);
    let header = token::plain_header().to_string();
    let hs256 =
        |header: &str, payload: &str| token::signed_text(header, payload, SECRET, Algorithm::Hs256);
    let parts: Vec<_> = good.split('.').collect();
    let (first, payload, signature) = (parts[0], parts[1], parts[2]);
    let padded = with(claims.clone(), "padding", json!("x".repeat(4096)));
    for text in [
        "x".to_owned(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        "a.b.c".to_owned(),
        "null".to_owned(),
        first.to_owned(),
        format!("{first}.{payload}"),
        format!("{first}.{payload}."),
        format!("{first}..{signature}"),
        format!(".{payload}.{signature}"),
        format!("{good}."),
        format!(".{good}"),
        format!("{good}.{signature}"),
        format!("{first}.{payload}.{payload}.{signature}"),
        format!("{good}="),
        format!("{good}A"),
        good[..good.len() - 1].to_owned(),
        good[1..].to_owned(),
        format!("\"{good}\""),
        format!("Bearer,{good}"),
        hs256(&header, ""),
        hs256(&header, "not JSON"),
        hs256(&header, "null"),
        hs256(&header, "[]"),
        hs256(&header, &claims.to_string()[1..]),
        hs256(&header, &format!("{claims} x")),
        hs256("not JSON", &claims.to_string()),
        hs256("", &claims.to_string()),
        token::signed(&token::plain_header(), &padded, SECRET),
    ] {
        expect_refused(&app, &text).await;
    }
}

async fn tampered_token_is_rejected(setup: TestSetup) {
    let app = setup.start().await;
    let (admin, ann) = (app.admin().await, app.user("ann").await);
    let parts: Vec<_> = ann.token.split('.').collect();
    let (header, payload, signature) = (parts[0], parts[1], parts[2]);
    let admin_payload = admin.token.split('.').nth(1).expect("a payload");
    expect_refused(&app, &format!("{header}.{admin_payload}.{signature}")).await;
    let claims = with(token::claims(&ann.token), "role", json!("admin")).to_string();
    expect_refused(
        &app,
        &format!("{header}.{}.{signature}", token::encoded(&claims)),
    )
    .await;
    let other = |byte: char| if byte == 'A' { 'B' } else { 'A' };
    for place in 0..signature.len() {
        let changed: String = signature
            .chars()
            .enumerate()
            .map(|(index, byte)| if index == place { other(byte) } else { byte })
            .collect();
        let response = app
            .bearer
            .with_token(&format!("{header}.{payload}.{changed}"))
            .get("/profile")
            .await;
        response.expect_detail(401, "Invalid or expired token.");
    }
}
