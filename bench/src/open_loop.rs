//! Generates open-loop load: requests are sent at a constant rate, regardless of earlier responses.

use crate::Failure;
use http::StatusCode;
use std::time::{Duration, Instant};
use tokio::{sync::mpsc, task::JoinSet};

/// A completed request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed<T = Option<StatusCode>> {
    /// The outcome, which is by default the status, or `None` if there was no response.
    pub(crate) outcome: T,
    /// The time from when the request was due until it was completed. Counting from the due time avoids coordinated
    /// omission.
    pub(crate) latency: Duration,
    /// The time at which the request was completed, since the start of the load.
    pub(crate) at: Duration,
}

/// Sends requests at a constant rate and waits for all responses.
pub(crate) async fn open_loop<F>(
    per_second: f64,
    time: Duration,
    request: impl Fn(usize) -> F,
) -> Result<Vec<Completed<F::Output>>, Failure>
where
    F: Future<Output: Send> + Send + 'static,
{
    let start = Instant::now();
    let mut due = pacemaker(start, Duration::from_secs_f64(1.0 / per_second), time);
    let (mut requests, mut completed) = (JoinSet::new(), Vec::new());
    let mut number = 0;
    while let Some(planned) = due.recv().await {
        let request = request(number);
        number += 1;
        requests.spawn(async move {
            let outcome = request.await;
            Completed {
                outcome,
                latency: planned.elapsed(),
                at: start.elapsed(),
            }
        });
        // A finished task keeps its memory until it is joined, and a generator that always touches new
        // memory stalls in page faults.
        while let Some(request) = requests.try_join_next() {
            completed.push(request?);
        }
    }
    while let Some(request) = requests.join_next().await {
        completed.push(request?);
    }
    Ok(completed)
}

/// The minimum time between two wake-ups of the pacemaker. Due times that are closer share a wake-up, because the
/// generator shares the CPUs with the services.
const MIN_SLEEP: Duration = Duration::from_micros(500);

/// Emits the times at which requests are due. It uses a thread, because tokio's timers have a resolution of a
/// millisecond.
fn pacemaker(start: Instant, pause: Duration, time: Duration) -> mpsc::UnboundedReceiver<Instant> {
    let (sender, due) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut planned = start;
        while planned < start + time {
            let early = planned.saturating_duration_since(Instant::now());
            if !early.is_zero() {
                std::thread::sleep(early.max(MIN_SLEEP));
            }
            if sender.send(planned).is_err() {
                break;
            }
            planned += pause;
        }
    });
    due
}
