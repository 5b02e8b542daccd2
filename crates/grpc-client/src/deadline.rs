//! Enforces the deadlines of calls on the side of the client, and repeats failed calls that change nothing.

use crate::{CallError, hedge::ReadOnly};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Response, Status, Streaming};

/// The timeout of decisions and reads, which take milliseconds.
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of calls that hash a password, which takes a third of a second and may wait in a queue first.
pub const PASSWORD_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum difference between the timers of client and service. An error that arrives this shortly before
/// the deadline may be a timeout of the service.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

/// The granularity of the timeouts that are announced to services.
const TIMEOUT_GRANULARITY: Duration = Duration::from_millis(100);

/// The delays between attempts. Few attempts are enough, because a lost replica is not picked again.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// Calls a method of a generated client and fails after `timeout`, whatever the service does. The service
/// receives the timeout in `grpc-timeout` and can stop its work.
pub async fn call<C: Clone, M, A>(
    timeout: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    request.set_timeout(announced_timeout(timeout));
    call_within(timeout, client, request, method).await
}

/// Opens a stream of responses, which has no deadline. Only the response that begins the stream must arrive
/// within [`READ_TIMEOUT`]. The service does not receive this timeout, because a proxy would end the stream
/// when it expires.
pub async fn open_stream<C: Clone, M, A>(
    client: &C,
    request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<Streaming<A>>, Status>,
) -> Result<Streaming<A>, CallError> {
    call_within(READ_TIMEOUT, client, request, method).await
}

async fn call_within<C: Clone, M, A>(
    timeout: Duration,
    client: &C,
    request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    let deadline = Instant::now() + timeout;
    match timeout_at(deadline, method(&mut client.clone(), request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => {
            let is_overdue = Instant::now() + CLOCK_TOLERANCE >= deadline;
            Err(CallError::from_status(&status, is_overdue))
        }
        Err(_elapsed) => Err(CallError::DeadlineExceeded),
    }
}

/// Returns the timeout that the service receives. It is rounded up, so that calls with different times left
/// until their deadlines send few distinct values, which HPACK can index. A timeout of less than a second stays
/// exact.
fn announced_timeout(timeout: Duration) -> Duration {
    if timeout < Duration::from_secs(1) {
        return timeout;
    }
    let multiple = timeout
        .as_micros()
        .div_ceil(TIMEOUT_GRANULARITY.as_micros());
    TIMEOUT_GRANULARITY.saturating_mul(u32::try_from(multiple).unwrap_or(u32::MAX))
}

/// Calls a method that changes nothing. If the response is late, the call may be sent once more, to another
/// replica.
pub async fn read<C: Clone, M, A>(
    timeout: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    request.extensions_mut().insert(ReadOnly);
    call(timeout, client, request, method).await
}

/// Calls a method like [`read`]. If the service is unavailable, repeats the call a few times after short
/// delays. `deadline` applies to all attempts together.
pub async fn retry_until<C: Clone, M, A>(
    deadline: Instant,
    client: &C,
    request: impl Fn() -> Request<M>,
    method: impl AsyncFn(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    let attempt = || {
        let remaining = deadline.saturating_duration_since(Instant::now());
        read(remaining, client, request(), &method)
    };
    for delay in RETRY_DELAYS {
        match attempt().await {
            Err(CallError::Unavailable) => sleep(delay).await,
            result => return result,
        }
    }
    attempt().await
}

#[cfg(test)]
mod tests {
    use super::announced_timeout;
    use std::time::Duration;

    #[test]
    fn announced_timeouts_are_few_and_never_shorter_than_the_deadline() {
        for (exact, expected) in [
            (10_000_000, 10_000_000),
            (4_999_871, 5_000_000),
            (4_900_001, 5_000_000),
            (4_900_000, 4_900_000),
            (1_000_001, 1_100_000),
            (999_999, 999_999),
            (0, 0),
        ] {
            assert_eq!(
                announced_timeout(Duration::from_micros(exact)),
                Duration::from_micros(expected)
            );
        }
    }
}
