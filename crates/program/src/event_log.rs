//! Counts events that a client or an outage can repeat, and logs the counts once a second. With one line for
//! each event, a client could fill the disk.

use parking_lot::Mutex;
use std::{collections::BTreeMap, time::Duration};
use tokio::runtime::Handle;

const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum number of kinds that are counted separately. Events of further kinds are counted together, as
/// `others`.
const MAX_KINDS: usize = 64;

type Counts = BTreeMap<String, u64>;

/// Counts events by kind, such as a route with its status, and logs the counts.
#[derive(Debug)]
pub struct EventLog {
    /// The function that logs the counts of a second. Its argument is the counts as text, for example `/login
    /// OVERLOADED 12, /login TOO_MANY_ATTEMPTS 3`.
    log: fn(&str),
    /// The counts since the last line. `None` while no task reports them: until the first event, and again
    /// after a second without one.
    counts: Mutex<Option<Counts>>,
}

/// Determines whether the first event of a series is counted, or logged by the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstEvent {
    Counted,
    LoggedByCaller,
}

impl EventLog {
    /// Creates a log that passes its counts to `log`, which writes the line.
    pub const fn new(log: fn(&str)) -> Self {
        Self {
            log,
            counts: Mutex::new(None),
        }
    }

    /// Counts an event of this kind. The next line of the log contains the count.
    pub fn count(&'static self, kind: String) {
        self.add(kind, FirstEvent::Counted);
    }

    /// Returns whether this event begins a series of its kind. If so, the caller logs the event; otherwise it
    /// is counted. A series ends with a second without an event of its kind.
    pub fn is_first(&'static self, kind: String) -> bool {
        self.add(kind, FirstEvent::LoggedByCaller)
    }

    /// Adds an event to the series of its kind, and returns whether it begins that series. If no task logs the
    /// counts yet, starts one. Outside a runtime, nothing is counted, and the result is always `true`.
    fn add(&'static self, kind: String, first: FirstEvent) -> bool {
        let Ok(runtime) = Handle::try_current() else {
            return true;
        };
        let mut guard = self.counts.lock();
        let starts = guard.is_none();
        let counts = guard.get_or_insert_default();
        let is_known = counts.len() < MAX_KINDS || counts.contains_key(&kind);
        let kind = if is_known { kind } else { "others".to_owned() };
        let is_first = !counts.contains_key(&kind);
        let is_counted = !is_first || first == FirstEvent::Counted;
        *counts.entry(kind).or_default() += u64::from(is_counted);
        drop(guard);
        if starts {
            runtime.spawn(self.report());
        }
        is_first
    }

    async fn report(&'static self) {
        loop {
            tokio::time::sleep(LOG_INTERVAL).await;
            let text = self.take();
            if text.is_empty() {
                return;
            }
            (self.log)(&text);
        }
    }

    /// Returns the counts as text, and sets them to zero. A kind without counted events since the last line is
    /// removed, which ends its series.
    fn take(&self) -> String {
        let mut guard = self.counts.lock();
        let mut counts = guard.take().unwrap_or_default();
        counts.retain(|_, count| *count > 0);
        let text: Vec<_> = counts
            .iter()
            .map(|(kind, count)| format!("{kind} {count}"))
            .collect();
        for count in counts.values_mut() {
            *count = 0;
        }
        if !counts.is_empty() {
            *guard = Some(counts);
        }
        text.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::EventLog;
    use std::{sync::Mutex, time::Duration};

    /// Creates a log for a test, and a function that takes the lines it has written.
    macro_rules! log {
        () => {{
            static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
            static LOG: EventLog =
                EventLog::new(|line| LINES.lock().expect("no panic").push(line.to_owned()));
            (&LOG, || {
                std::mem::take(&mut *LINES.lock().expect("no panic"))
            })
        }};
    }

    /// Waits this many seconds, and until the lines of these seconds are logged.
    async fn seconds(seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        tokio::task::yield_now().await;
    }

    #[tokio::test(start_paused = true)]
    async fn repeated_events_are_one_line_a_second_until_a_second_without_any() {
        let (log, lines) = log!();
        let fail = |kind: &str| log.is_first(kind.to_owned());
        assert_eq!(
            ["/b 503", "/a 503", "/b 503"].map(fail),
            [true, true, false]
        );
        log.count("/c BUSY".to_owned());
        seconds(1).await;
        assert_eq!(lines(), ["/b 503 1, /c BUSY 1"]);
        assert_eq!(
            ["/b 503", "/d 503", "/b 503"].map(fail),
            [false, true, false]
        );
        seconds(3).await;
        assert_eq!(lines(), ["/b 503 2"]);
        assert!(fail("/b 503"), "the next series");
        seconds(3).await;
        assert_eq!(lines(), [""; 0], "a lone event is not counted");
        assert!(fail("/b 503"));
    }

    #[tokio::test(start_paused = true)]
    async fn each_kind_has_a_series_of_its_own() {
        let (log, lines) = log!();
        let fail = |kind: &str| log.is_first(kind.to_owned());
        assert_eq!(["/a 503", "/a 503"].map(fail), [true, false]);
        seconds(1).await;
        assert_eq!(
            ["/b 503", "/b 503", "/a 503"].map(fail),
            [true, false, false]
        );
        seconds(1).await;
        assert!(!fail("/b 503"));
        seconds(1).await;
        assert_eq!(
            ["/a 503", "/b 503"].map(fail),
            [true, false],
            "only that of /a has ended"
        );
        seconds(3).await;
        assert_eq!(
            lines(),
            ["/a 503 1", "/a 503 1, /b 503 1", "/b 503 1", "/b 503 1"]
        );
    }
}
