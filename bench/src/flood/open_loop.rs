//! Requests that arrive when they arrive, whether or not the ones before were answered.

use crate::Failure;
use http::StatusCode;
use std::time::{Duration, Instant};
use tokio::{sync::mpsc, task::JoinSet};

/// The end of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    /// `None` when there was no answer at all.
    pub(crate) status: Option<StatusCode>,
    /// From the time at which it was to be sent: who sends late must not look fast.
    pub(crate) latency: Duration,
    /// From the start of the first.
    pub(crate) at: Duration,
}

/// Sends requests at an even pace for a while, and waits for the answers to all of them.
pub(crate) async fn open_loop<F>(
    per_second: f64,
    time: Duration,
    request: impl Fn(usize) -> F,
) -> Result<Vec<Answered>, Failure>
where
    F: Future<Output = Result<StatusCode, Failure>> + Send + 'static,
{
    let start = Instant::now();
    let mut due = pacemaker(start, Duration::from_secs_f64(1.0 / per_second), time);
    let mut requests = JoinSet::new();
    let mut number = 0;
    while let Some(planned) = due.recv().await {
        let request = request(number);
        number += 1;
        requests.spawn(async move {
            let status = request.await.ok();
            Answered { status, latency: planned.elapsed(), at: start.elapsed() }
        });
    }
    let mut answers = Vec::with_capacity(number);
    while let Some(answered) = requests.join_next().await {
        answers.push(answered?);
    }
    Ok(answers)
}

/// Tells the times that have come. A thread, because tokio's timers are a millisecond coarse.
fn pacemaker(start: Instant, pause: Duration, time: Duration) -> mpsc::UnboundedReceiver<Instant> {
    let (tell, due) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        let mut planned = start;
        while planned < start + time {
            std::thread::sleep(planned.saturating_duration_since(Instant::now()));
            if tell.send(planned).is_err() {
                break;
            }
            planned += pause;
        }
    });
    due
}
