//! Decides which sign-ins and refusals get a row of the record, and counts the refusals that get none.
//!
//! Strangers can cause these events, and rows stay for months. The number of rows in a minute is therefore
//! limited, and no single client or user can use up all of them.

use super::{Entry, sign_ins::unrecorded_refusals};
use parking_lot::Mutex;
use rolegate_http_server::clients::{Network, NetworkShare, client_key, networks};
use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_mins(1);

/// The limits for refusals. Refusals of known users and refusals of unknown users are counted separately.
const REFUSAL_LIMITS: RowLimits = RowLimits {
    all: 60,
    reserved: 20,
    per_client: 10,
    per_user: 10,
};
/// The limits for sign-ins. They are high, because many users of one office sign in from the same network at
/// the same time.
const SIGN_IN_LIMITS: RowLimits = RowLimits {
    all: 3000,
    reserved: 1000,
    per_client: 500,
    per_user: 60,
};

/// Decides which events of this replica get a row. Sign-ins, refusals of known users and refusals of unknown
/// ones have separate limits, so that a flood of one kind does not hide the others.
pub(crate) struct SignInRows {
    sign_ins: RowQuota,
    user_refusals: RowQuota,
    /// The quota for refusals of unknown usernames and unknown keys.
    anonymous_refusals: RowQuota,
    /// The number of refusals without a row since the last summary row.
    unrecorded: AtomicU64,
}

/// A refusal that got no row and was only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the number has to be recorded a minute after the first"]
pub(crate) enum UnrecordedRefusal {
    /// The first such refusal since the last summary row. The caller schedules the next summary row.
    First,
    Further,
}

impl SignInRows {
    pub(crate) fn new() -> Self {
        Self {
            sign_ins: RowQuota::new(SIGN_IN_LIMITS),
            user_refusals: RowQuota::new(REFUSAL_LIMITS),
            anonymous_refusals: RowQuota::new(REFUSAL_LIMITS),
            unrecorded: AtomicU64::new(0),
        }
    }

    /// Returns whether this sign-in gets a row, and counts the row.
    pub(crate) fn admit_sign_in(&self, entry: &Entry) -> bool {
        self.sign_ins.admit(entry, Instant::now())
    }

    /// Returns `Ok` if this refusal gets a row, and counts the row. Otherwise counts the refusal for the next
    /// summary row, and returns whether it is the first one.
    pub(crate) fn admit_refusal(&self, entry: &Entry) -> Result<(), UnrecordedRefusal> {
        let quota = if entry.row.user_id.is_some() {
            &self.user_refusals
        } else {
            &self.anonymous_refusals
        };
        if quota.admit(entry, Instant::now()) {
            Ok(())
        } else {
            Err(self.count_refusal())
        }
    }

    /// Counts a refusal that gets no row, and returns whether it is the first one since the last summary row.
    pub(crate) fn count_refusal(&self) -> UnrecordedRefusal {
        if self.unrecorded.fetch_add(1, Ordering::Relaxed) == 0 {
            UnrecordedRefusal::First
        } else {
            UnrecordedRefusal::Further
        }
    }

    /// Returns the summary row with the number of refusals that got no row since the previous summary, and
    /// resets the number. Returns `None` if there were none.
    pub(crate) fn take_unrecorded(&self) -> Option<Entry> {
        match self.unrecorded.swap(0, Ordering::Relaxed) {
            0 => None,
            count => Some(unrecorded_refusals(count)),
        }
    }
}

/// The limits on the number of rows in a minute.
#[derive(Clone, Copy)]
struct RowLimits {
    /// The limit for all clients and users together.
    all: usize,
    /// The part of `all` that is kept for events whose user and network both have no row in this minute.
    reserved: usize,
    /// The limit for an IPv4 address or an IPv6 /64. A /56 may have twice as many and a /48 four times as many.
    /// Four times this limit must be at most `all` minus `reserved`, because the reserved rows are for other
    /// networks.
    per_client: u32,
    per_user: u32,
}

/// Counts the rows of the current minute and compares them with the limits.
struct RowQuota {
    limits: RowLimits,
    minute: Mutex<Minute>,
}

/// The rows of one minute. Only events that got a row are remembered, so the limits also bound the memory.
#[derive(Default)]
struct Minute {
    /// The time at which the first event of this minute arrived; `None` before the first event.
    began: Option<Instant>,
    recorded: HashSet<RowKey>,
    by_network: HashMap<Network, u32>,
    by_user: HashMap<i64, u32>,
}

/// Identifies an event: two events with equal keys are alike. Only the first of them in a minute gets a row.
#[derive(PartialEq, Eq, Hash)]
struct RowKey {
    event: String,
    user_id: Option<i64>,
    client: IpAddr,
    /// The reason of a refusal, or the method of a sign-in.
    kind: Option<String>,
}

impl RowQuota {
    fn new(limits: RowLimits) -> Self {
        Self {
            limits,
            minute: Mutex::default(),
        }
    }

    /// Returns whether this event gets a row, and counts the row.
    fn admit(&self, entry: &Entry, now: Instant) -> bool {
        let row = &entry.row;
        let address = row.client_address.as_deref();
        let client = client_key(address.and_then(|address| address.parse().ok()));
        let kind = entry.details["reason"].as_str();
        let key = RowKey {
            event: row.event.clone(),
            user_id: row.user_id,
            client,
            kind: kind.or(entry.details["method"].as_str()).map(str::to_owned),
        };
        let mut minute = self.minute.lock();
        minute.begin(now);
        if minute.recorded.contains(&key) || !minute.has_room(row.user_id, client, &self.limits) {
            return false;
        }
        for NetworkShare { network, .. } in networks(client) {
            *minute.by_network.entry(network).or_default() += 1;
        }
        if let Some(user_id) = row.user_id {
            *minute.by_user.entry(user_id).or_default() += 1;
        }
        minute.recorded.insert(key);
        true
    }
}

impl Minute {
    /// Starts a new minute if the previous one is over.
    fn begin(&mut self, now: Instant) {
        let is_over = |began| now.duration_since(began) >= MINUTE;
        if self.began.is_none_or(is_over) {
            *self = Self {
                began: Some(now),
                ..Self::default()
            };
        }
    }

    fn has_room(&self, user_id: Option<i64>, client: IpAddr, limits: &RowLimits) -> bool {
        let rows_of_user = user_id
            .and_then(|id| self.by_user.get(&id).copied())
            .unwrap_or(0);
        if rows_of_user >= limits.per_user {
            return false;
        }
        let mut rows_of_network = 0;
        for NetworkShare { network, factor } in networks(client) {
            rows_of_network = self.by_network.get(&network).copied().unwrap_or(0);
            if rows_of_network >= limits.per_client.saturating_mul(factor) {
                return false;
            }
        }
        // The last network is the largest. A subscriber with many small networks therefore counts as new only
        // once.
        let is_new = rows_of_user == 0 && rows_of_network == 0;
        let room = if is_new {
            limits.all
        } else {
            limits.all - limits.reserved
        };
        self.recorded.len() < room
    }
}

#[cfg(test)]
mod tests;
