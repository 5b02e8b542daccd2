//! Verifies responses before anything is measured, because a fast wrong response is worthless.

use crate::{
    Failure,
    http_client::{Connection, Response},
    target::Target,
    users::{self, LoadUser},
};
use futures_util::future::try_join_all;
use http::StatusCode;
use serde_json::json;

/// The number of concurrent connections, which are several so that requests share queries.
const CONNECTIONS: usize = 32;

/// Requests the profile of each user, with invalid tokens in between, over concurrent connections.
///
/// Returns an error if a status or body is wrong, and otherwise the number of responses.
pub(crate) async fn verify_responses(
    target: &Target,
    users: &[LoadUser],
) -> Result<usize, Failure> {
    let invalid_tokens = users::invalid_tokens()?;
    let parts = users.chunks(users.len().div_ceil(CONNECTIONS));
    let checks = parts.map(async |users| {
        let mut connection = Connection::open(target.bearer).await?;
        let mut count = 0;
        for (index, user) in users.iter().enumerate() {
            let answer = connection.get("/profile", Some(&user.bearer())).await?;
            expect(&answer, StatusCode::OK, &user.profile())?;
            count += 1;
            if index % 16 == 0 {
                count += verify_rejections(&mut connection, &invalid_tokens).await?;
            }
        }
        Ok::<usize, Failure>(count)
    });
    let counts = try_join_all(checks)
        .await
        .map_err(|wrong| format!("{}: {wrong}", target.name))?;
    Ok(counts.into_iter().sum())
}

async fn verify_rejections(
    connection: &mut Connection,
    invalid_tokens: &[(String, &'static str)],
) -> Result<usize, Failure> {
    let unauthorized = |answer: &Response, detail: &str| {
        expect(
            answer,
            StatusCode::UNAUTHORIZED,
            &json!({ "detail": detail }),
        )
    };
    for (token, detail) in invalid_tokens {
        let authorization = format!("Bearer {token}");
        unauthorized(
            &connection.get("/profile", Some(&authorization)).await?,
            detail,
        )?;
    }
    unauthorized(
        &connection.get("/profile", None).await?,
        "Not authenticated.",
    )?;
    Ok(invalid_tokens.len() + 1)
}

fn expect(answer: &Response, status: StatusCode, body: &serde_json::Value) -> Result<(), Failure> {
    if answer.status == status && answer.body == *body {
        return Ok(());
    }
    Err(format!(
        "{} {} instead of {status} {body}",
        answer.status, answer.body
    )
    .into())
}
