//! Deadlines that this side enforces, and retries within them.

use crate::{CallError, hedge::ReadOnly};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Response, Status, Streaming};

/// The timeout of decisions and reads, which take milliseconds.
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of calls that hash a password: a third of a second of work behind a queue.
pub const PASSWORD_TIMEOUT: Duration = Duration::from_secs(10);

/// How far the timers of both sides may differ.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

/// The timeouts that services learn are multiples of this.
const TIMEOUT_GRANULARITY: Duration = Duration::from_millis(100);

/// A lost replica is not picked again, so few attempts are enough.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// Calls a method of a generated client and fails after `timeout`, whatever the service does. The service
/// learns the timeout from `grpc-timeout` and can stop its work.
pub async fn call<C: Clone, M, A>(
    timeout: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    request.set_timeout(announced_timeout(timeout));
    call_within(timeout, client, request, method).await
}

/// Opens a stream of responses, which has no deadline. The service does not learn the timeout of the answer that
/// begins it: a proxy would end the stream by it.
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

/// The timeout that the service learns: rounded up, so that calls with what is left of a deadline send few
/// distinct values, which HPACK can index. A timeout of less than a second stays exact.
fn announced_timeout(timeout: Duration) -> Duration {
    if timeout < Duration::from_secs(1) {
        return timeout;
    }
    let multiple = timeout
        .as_micros()
        .div_ceil(TIMEOUT_GRANULARITY.as_micros());
    TIMEOUT_GRANULARITY.saturating_mul(u32::try_from(multiple).unwrap_or(u32::MAX))
}

/// Calls a method that changes nothing. A call that is not answered in time may be sent once more, to
/// another replica.
pub async fn read<C: Clone, M, A>(
    timeout: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    request.extensions_mut().insert(ReadOnly);
    call(timeout, client, request, method).await
}

/// Like [`read`], again and again until `deadline` while the service is unavailable.
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
