//! What a connection does: written by the connection, read by the accept loop when it needs room.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

/// A part of a request head has arrived.
const RECEIVING: u64 = 0;
/// A request is served.
const SERVING: u64 = 1;
/// All of the response is in the buffers of the connection.
const SERVED: u64 = 2;
/// Closed by the accept loop.
const CLOSING: u64 = u64::MAX;
/// Any other state is the tick since which the connection is idle.
const FIRST_TICK: u64 = 3;

/// Counts ticks; shared by the connections of a listener. A coarse clock costs requests a load.
#[derive(Clone, Debug)]
pub(crate) struct Ticks(Arc<AtomicU64>);

impl Default for Ticks {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(FIRST_TICK)))
    }
}

impl Ticks {
    pub(crate) fn advance(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The activity of one connection. Only the connection itself and one transition of the accept loop,
/// from idle to closing, change it: what has begun to receive is never closed for another connection.
#[derive(Debug)]
pub(crate) struct Activity {
    state: AtomicU64,
    /// Whether the peer has yet to take some of the response.
    is_blocked: AtomicBool,
    ticks: Ticks,
}

impl Activity {
    pub(crate) fn new(ticks: &Ticks) -> Self {
        let state = AtomicU64::new(ticks.0.load(Relaxed));
        Self { state, is_blocked: AtomicBool::default(), ticks: ticks.clone() }
    }

    /// Notes that bytes of a request have arrived. `false` if the connection is being closed.
    pub(crate) fn begin_head(&self) -> bool {
        self.begin(RECEIVING)
    }

    /// Notes that the head is complete. `false` if the connection is being closed: the request must
    /// not be served.
    pub(crate) fn begin_request(&self) -> bool {
        self.begin(SERVING)
    }

    /// Notes that all of the response is in the buffers of the connection.
    pub(crate) fn end_request(&self) {
        self.state.store(SERVED, Relaxed);
    }

    /// Notes that these buffers were written as far as the peer takes them, and nothing has arrived.
    pub(crate) fn rest(&self) {
        if self.state.load(Relaxed) == SERVED {
            self.state.store(self.ticks.0.load(Relaxed), Relaxed);
        }
    }

    /// Whether a request is served now.
    pub(crate) fn is_serving(&self) -> bool {
        self.state.load(Relaxed) == SERVING
    }

    /// Whether a request is served now, or was served and no byte of the next one has arrived.
    pub(crate) fn has_request(&self) -> bool {
        matches!(self.state.load(Relaxed), SERVING | SERVED)
    }

    /// Notes whether the peer has yet to take some of the response.
    pub(crate) fn set_blocked(&self, is_blocked: bool) {
        self.is_blocked.store(is_blocked, Relaxed);
    }

    /// The tick since which the connection is idle.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let state = self.state.load(Relaxed);
        (is_idle(state) && !self.is_blocked.load(Relaxed)).then_some(state)
    }

    /// Forbids further requests, if the connection has been idle since this tick.
    pub(crate) fn try_close(&self, since: u64) -> bool {
        self.idle_since() == Some(since) && self.leave_idle(since, CLOSING)
    }

    fn begin(&self, next: u64) -> bool {
        let state = self.state.load(Relaxed);
        if is_idle(state) {
            return self.leave_idle(state, next);
        }
        if state != CLOSING {
            self.state.store(next, Relaxed);
        }
        state != CLOSING
    }

    /// `false` if the other side was first.
    fn leave_idle(&self, since: u64, next: u64) -> bool {
        self.state.compare_exchange(since, next, Relaxed, Relaxed).is_ok()
    }
}

fn is_idle(state: u64) -> bool {
    (FIRST_TICK..CLOSING).contains(&state)
}

#[cfg(test)]
mod tests {
    use super::{Activity, Ticks};

    #[test]
    fn a_connection_is_idle_from_its_last_response_to_the_first_byte_of_the_next_request() {
        let ticks = Ticks::default();
        let connection = Activity::new(&ticks);
        let opened = connection.idle_since().expect("idle");
        assert!(connection.begin_head() && connection.begin_request());
        assert_eq!(connection.idle_since(), None);
        ticks.advance();
        connection.end_request();
        assert_eq!(connection.idle_since(), None, "its response may not be written yet");
        connection.rest();
        assert!(connection.idle_since() > Some(opened));
        // A head that arrived with the previous one.
        assert!(connection.begin_request());
        assert!(!connection.try_close(opened) && !connection.try_close(opened + 1));
    }

    #[test]
    fn a_response_that_the_peer_has_not_taken_keeps_the_connection() {
        let connection = Activity::new(&Ticks::default());
        let since = connection.idle_since().expect("idle");
        connection.set_blocked(true);
        assert!(!connection.try_close(since));
        connection.set_blocked(false);
        assert!(connection.try_close(since));
    }

    #[test]
    fn a_closed_connection_serves_nothing() {
        let connection = Activity::new(&Ticks::default());
        let since = connection.idle_since().expect("idle");
        assert!(connection.try_close(since) && !connection.try_close(since));
        assert!(!connection.begin_head() && !connection.begin_request());
        assert_eq!(connection.idle_since(), None);
    }
}
