//! Checks the responses before anything is measured, because a fast error page is worthless.

use super::peer::Peer;
use crate::{
    Failure,
    http_client::{Connection, Response},
    users::{LoadUser, PASSWORD},
};
use http::StatusCode;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

const CLIENT: &str = "10.0.0.1";
const NEW_USER: &str = "new-user";

/// Registers a user, logs in, requests profiles, and checks that what is not allowed is refused.
pub(super) async fn check(peer: &Peer, users: &[LoadUser]) -> Result<(), Failure> {
    let mut connection = Connection::open(peer.address).await?;
    let api = peer.api;
    let credentials = api.credentials(NEW_USER, PASSWORD);
    let answer = connection.post(api.register, &credentials, CLIENT).await?;
    if !answer.status.is_success() {
        return Err(format!("registration: {} {}", answer.status, answer.body).into());
    }
    let wrong = api.credentials(NEW_USER, "another password");
    let answer = connection.post(api.login, &wrong, CLIENT).await?;
    expect(
        &answer,
        "login with a wrong password",
        StatusCode::UNAUTHORIZED,
        None,
    )?;
    let answer = connection.post(api.login, &credentials, CLIENT).await?;
    expect(&answer, "login", StatusCode::OK, None)?;
    let token = answer.body[api.token]
        .as_str()
        .ok_or("a login without a token")?;
    let token = format!("Bearer {token}");

    for header in [None, Some("Bearer not.a.token")] {
        let answer = connection.get("/profile", header).await?;
        expect(&answer, "no valid token", StatusCode::UNAUTHORIZED, None)?;
    }
    // A role that changes in the database must count at once.
    for (role, status) in [("user", StatusCode::FORBIDDEN), ("admin", StatusCode::OK)] {
        set_role(peer, role).await?;
        let profile = json!({ "message": format!("Welcome {NEW_USER}!"), "role": role });
        let answer = connection.get("/profile", Some(&token)).await?;
        expect(&answer, "profile", StatusCode::OK, Some(&profile))?;
        let answer = connection.get(api.admin, Some(&token)).await?;
        expect(&answer, "endpoint for admins", status, None)?;
    }
    for (user, header) in users.iter().zip(&peer.headers).step_by(100) {
        let answer = connection.get("/profile", Some(header)).await?;
        expect(
            &answer,
            "profile of a load user",
            StatusCode::OK,
            Some(&user.profile()),
        )?;
    }
    if peer.headers.len() == users.len() {
        Ok(())
    } else {
        Err("a token of each user".into())
    }
}

async fn set_role(peer: &Peer, role: &str) -> Result<(), Failure> {
    let mut connection = PgConnection::connect(&peer.database_url).await?;
    let sql = format!(
        r#"UPDATE "user" SET role = $1 WHERE {} = $2"#,
        peer.api.username
    );
    let update = sqlx::query(sqlx::AssertSqlSafe(sql))
        .bind(role)
        .bind(NEW_USER);
    let updated = update.execute(&mut connection).await?.rows_affected();
    connection.close().await?;
    if updated == 1 {
        Ok(())
    } else {
        Err(format!("{updated} users are {NEW_USER}").into())
    }
}

fn expect(
    answer: &Response,
    what: &str,
    status: StatusCode,
    body: Option<&Value>,
) -> Result<(), Failure> {
    if answer.status == status && body.is_none_or(|body| answer.body == *body) {
        return Ok(());
    }
    let wanted = body.map(ToString::to_string).unwrap_or_default();
    Err(format!(
        "{what}: {} {} instead of {status} {wanted}",
        answer.status, answer.body
    )
    .into())
}
