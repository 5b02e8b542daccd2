//! Deadlines that this side enforces, and retries within them.

use crate::CallError;
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
const MAX_ATTEMPTS: u32 = 3;
const FIRST_DELAY: Duration = Duration::from_millis(10);

/// Makes a call and fails it after `time`, whatever the service does. The service learns the timeout
/// from `grpc-timeout` and can stop its work.
pub async fn call_with_timeout<M, A, F>(
    time: Duration,
    mut request: Request<M>,
    call: impl FnOnce(Request<M>) -> F,
) -> Result<A, CallError>
where
    F: Future<Output = Result<Response<A>, Status>>,
{
    request.set_timeout(time);
    let deadline = Instant::now() + time;
    match timeout_at(deadline, call(request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => {
            let is_overdue = Instant::now() + CLOCK_TOLERANCE >= deadline;
            Err(CallError::from_status(&status, is_overdue))
        }
        Err(_elapsed) => Err(CallError::DeadlineExceeded),
    }
}

/// Makes a call that changes nothing, and repeats it until `deadline` while the service is unavailable.
pub async fn retry_until<M: Clone, A, F>(
    deadline: Instant,
    message: M,
    call: impl Fn(Request<M>) -> F,
) -> Result<A, CallError>
where
    F: Future<Output = Result<Response<A>, Status>>,
{
    let mut delay = FIRST_DELAY;
    for _ in 1..MAX_ATTEMPTS {
        let time = deadline.saturating_duration_since(Instant::now());
        match call_with_timeout(time, Request::new(message.clone()), &call).await {
            Err(CallError::Unavailable) => sleep(delay).await,
            result => return result,
        }
        delay *= 4;
    }
    let time = deadline.saturating_duration_since(Instant::now());
    call_with_timeout(time, Request::new(message), call).await
}
