//! The deadline of a call, kept by this side, and what may be repeated within it.

use crate::CallError;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};
use tonic::{Request, Response, Status};

/// For decisions and look-ups, which take milliseconds.
pub const DECISION: Duration = Duration::from_secs(5);
/// For calls that hash a password: a third of a second of work, and a queue before it.
pub(crate) const PASSWORD: Duration = Duration::from_secs(10);

/// The other side's timer started later than ours and so ends later, or rounds and ends earlier.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// A replica that just went away is gone from the next try; with none left, trying is no use.
const TRIES: u32 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// Makes a call that ends after `time` whatever the other side does. The other side is told by
/// `grpc-timeout`, so that it stops working for nobody.
pub async fn within<M, A, F>(
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
        Ok(Err(status)) => Err(CallError::of(&status, Instant::now() + ROUND_TRIP >= deadline)),
        Err(_elapsed) => Err(CallError::DeadlineExceeded),
    }
}

/// The same until `deadline` for a call that changes nothing, and so may be repeated when it did
/// not reach anybody.
pub async fn repeat_within<M: Clone, A, F>(
    deadline: Instant,
    message: M,
    call: impl Fn(Request<M>) -> F,
) -> Result<A, CallError>
where
    F: Future<Output = Result<Response<A>, Status>>,
{
    let mut pause = FIRST_PAUSE;
    for _ in 1..TRIES {
        let left = deadline.saturating_duration_since(Instant::now());
        match within(left, Request::new(message.clone()), &call).await {
            Err(CallError::Unavailable) => sleep(pause).await,
            answered => return answered,
        }
        pause *= 4;
    }
    let left = deadline.saturating_duration_since(Instant::now());
    within(left, Request::new(message), call).await
}
