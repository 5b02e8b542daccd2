//! The deadline of a call, kept by this side.

use crate::CallError;
use std::{future::Future, time::Duration};
use tonic::{Request, Response, Status};

/// For decisions and look-ups, which take milliseconds.
pub(crate) const DECISION: Duration = Duration::from_secs(5);
/// For calls that hash a password: a third of a second of work, and a queue before it.
pub(crate) const PASSWORD: Duration = Duration::from_secs(10);

/// Makes a call that ends at the deadline whatever the other side does. The other side is told by
/// `grpc-timeout`, so that it stops working for nobody.
pub(crate) async fn within<M, A, F>(
    deadline: Duration,
    mut request: Request<M>,
    call: impl FnOnce(Request<M>) -> F,
) -> Result<A, CallError>
where
    F: Future<Output = Result<Response<A>, Status>>,
{
    request.set_timeout(deadline);
    match tokio::time::timeout(deadline, call(request)).await {
        Ok(Ok(response)) => Ok(response.into_inner()),
        Ok(Err(status)) => Err(status.into()),
        Err(_elapsed) => Err(CallError::DeadlineExceeded),
    }
}
