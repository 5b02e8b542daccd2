//! Deadlines that this side enforces, and retries within them.

use crate::{CallError, hedge::mark_read_only};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Response, Status};

/// For decisions and reads, which take milliseconds.
pub const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// For calls that hash a password: a third of a second of work behind a queue.
pub const PASSWORD_TIMEOUT: Duration = Duration::from_secs(10);

/// How far the timers of both sides may differ.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(100);

/// A lost replica is not picked again, so few attempts are enough.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// Calls a method of a generated client and fails after `time`, whatever the service does. The service
/// learns the timeout from `grpc-timeout` and can stop its work.
pub async fn call<C: Clone, M, A>(
    time: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    request.set_timeout(rounded_up(time));
    let deadline = Instant::now() + time;
    match timeout_at(deadline, method(&mut client.clone(), request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => {
            let is_overdue = Instant::now() + CLOCK_TOLERANCE >= deadline;
            Err(CallError::from_status(&status, is_overdue))
        }
        Err(_elapsed) => Err(CallError::DeadlineExceeded),
    }
}

/// The timeout that the service learns. Nearly all calls have the same one, so it is a reference into the
/// HPACK table of the connection (RFC 7541); exact ones would displace all other entries.
fn rounded_up(time: Duration) -> Duration {
    let steps = time.as_micros().div_ceil(CLOCK_TOLERANCE.as_micros());
    CLOCK_TOLERANCE.saturating_mul(u32::try_from(steps).unwrap_or(u32::MAX))
}

/// Calls a method that changes nothing. A call that is not answered in time may be sent once more, to
/// another replica.
pub async fn read<C: Clone, M, A>(
    time: Duration,
    client: &C,
    mut request: Request<M>,
    method: impl AsyncFnOnce(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    mark_read_only(&mut request);
    call(time, client, request, method).await
}

/// Like [`read`], again and again until `deadline` while the service is unavailable.
pub async fn retry_until<C: Clone, M, A>(
    deadline: Instant,
    client: &C,
    request: impl Fn() -> Request<M>,
    method: impl AsyncFn(&mut C, Request<M>) -> Result<Response<A>, Status>,
) -> Result<A, CallError> {
    let attempt = || {
        let time = deadline.saturating_duration_since(Instant::now());
        read(time, client, request(), &method)
    };
    for delay in RETRY_DELAYS {
        match attempt().await {
            Err(CallError::Unavailable) => sleep(delay).await,
            result => return result,
        }
    }
    attempt().await
}
