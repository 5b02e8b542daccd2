//! A pass of its own before anything is measured: whoever answers fast must answer right.

use crate::{
    Failure,
    http_client::{Answer, Connection},
    subject::Subject,
    users::{self, LoadUser},
};
use futures_util::future::try_join_all;
use http::StatusCode;
use serde_json::json;

/// As many as share a query.
const CONNECTIONS: usize = 32;

/// Asks for the profile of each of these users, with wrong tokens in between, over many connections
/// at once, and compares status and body. Returns how many answers were right; all were.
pub(crate) async fn check_answers(subject: &Subject, users: &[LoadUser]) -> Result<usize, Failure> {
    let wrong_tokens = users::wrong_tokens()?;
    let parts = users.chunks(users.len().div_ceil(CONNECTIONS));
    let checks = parts.map(async |users| {
        let mut connection = Connection::open(subject.bearer).await?;
        let mut count = 0;
        for (index, user) in users.iter().enumerate() {
            let answer = connection.get("/profile", Some(&user.bearer())).await?;
            expect(&answer, StatusCode::OK, &user.profile())?;
            count += 1;
            if index % 16 == 0 {
                count += check_refusals(&mut connection, &wrong_tokens).await?;
            }
        }
        Ok::<usize, Failure>(count)
    });
    let counts =
        try_join_all(checks).await.map_err(|wrong| format!("{}: {wrong}", subject.name))?;
    Ok(counts.into_iter().sum())
}

async fn check_refusals(
    connection: &mut Connection,
    wrong_tokens: &[(String, &'static str)],
) -> Result<usize, Failure> {
    let unauthorized = |answer: &Answer, detail: &str| {
        expect(answer, StatusCode::UNAUTHORIZED, &json!({ "detail": detail }))
    };
    for (token, detail) in wrong_tokens {
        let authorization = format!("Bearer {token}");
        unauthorized(&connection.get("/profile", Some(&authorization)).await?, detail)?;
    }
    unauthorized(&connection.get("/profile", None).await?, "Not authenticated.")?;
    Ok(wrong_tokens.len() + 1)
}

fn expect(answer: &Answer, status: StatusCode, body: &serde_json::Value) -> Result<(), Failure> {
    if answer.status == status && answer.body == *body {
        return Ok(());
    }
    Err(format!("{} {} instead of {status} {body}", answer.status, answer.body).into())
}
