//! Generates decisions without HTTP: concurrent callers in one process use auth-client.

use crate::{Failure, users::LoadUser};
use futures_util::future::try_join_all;
use rolegate_auth_client::{AuthClient, CallContext, CallError, Requirement};
use secrecy::SecretString;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Returns the authorizations per second of concurrent callers in a closed loop.
pub(crate) async fn per_second(
    client: &AuthClient,
    users: &[LoadUser],
    callers: usize,
    time: Duration,
) -> Result<f64, Failure> {
    let tokens = users
        .iter()
        .map(|user| SecretString::from(user.token.as_str()));
    let tokens: Arc<[SecretString]> = tokens.collect();
    let start = Instant::now();
    let tasks = (0..callers).map(|caller| {
        let (client, tokens) = (client.clone(), Arc::clone(&tokens));
        tokio::spawn(async move {
            let mut count = 0_u32;
            // The step is coprime to the number of users, so all of them are reached.
            let mut next = caller * tokens.len() / callers;
            while start.elapsed() < time {
                next = (next + 7919) % tokens.len();
                let context = CallContext::default();
                client
                    .authorize(&tokens[next], Requirement::AnyAuthenticated, context)
                    .await?;
                count += 1;
            }
            Ok::<u32, CallError>(count)
        })
    });
    let counts = try_join_all(tasks).await?;
    let total = counts.into_iter().sum::<Result<u32, _>>()?;
    Ok(f64::from(total) / start.elapsed().as_secs_f64())
}
