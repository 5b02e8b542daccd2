//! Decides which sign-ins and refusals get a row of the record. Strangers cause them and rows stay for months, so
//! a minute has a limited number of rows, and no client or user can use up all of them.

use super::Entry;
use parking_lot::Mutex;
use rolegate_http_server::clients::{Network, NetworkShare, client_key, networks};
use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    time::Duration,
};
use tokio::time::Instant;

const MINUTE: Duration = Duration::from_mins(1);

/// The most rows in a minute.
#[derive(Clone, Copy)]
pub(super) struct RowLimits {
    /// The limit of all clients and users together.
    pub(super) all: usize,
    /// The part of `all` that is kept for users and networks that have no row in this minute.
    pub(super) reserved: usize,
    /// The limit of an IPv4 address or an IPv6 /64. A /56 has twice and a /48 four times as many, which must be less than
    /// `all` without `reserved`.
    pub(super) per_client: u32,
    pub(super) per_user: u32,
}

/// Counts the rows of each minute.
pub(super) struct RowQuota {
    limits: RowLimits,
    minute: Mutex<Minute>,
}

/// The rows of a minute. It remembers only what got a row, which bounds its memory.
#[derive(Default)]
struct Minute {
    /// When the first row was due; `None` before that.
    began: Option<Instant>,
    recorded: HashSet<RowKey>,
    by_network: HashMap<Network, u32>,
    by_user: HashMap<i64, u32>,
}

/// Identifies the events that have one row in a minute.
#[derive(PartialEq, Eq, Hash)]
struct RowKey {
    event: &'static str,
    user_id: Option<i64>,
    client: IpAddr,
    /// The reason of a refusal, the method of a sign-in.
    kind: Option<&'static str>,
}

impl RowQuota {
    pub(super) fn new(limits: RowLimits) -> Self {
        Self {
            limits,
            minute: Mutex::default(),
        }
    }

    /// Whether this event gets a row, which is counted.
    pub(super) fn admit(&self, entry: &Entry, now: Instant) -> bool {
        let client = client_key(entry.client_address);
        let key = RowKey {
            event: entry.event,
            user_id: entry.user_id,
            client,
            kind: entry.details.reason.or(entry.details.method),
        };
        let mut minute = self.minute.lock();
        minute.begin(now);
        if minute.recorded.contains(&key) || !minute.has_room(entry.user_id, client, &self.limits) {
            return false;
        }
        for NetworkShare { network, .. } in networks(client) {
            *minute.by_network.entry(network).or_default() += 1;
        }
        if let Some(user_id) = entry.user_id {
            *minute.by_user.entry(user_id).or_default() += 1;
        }
        minute.recorded.insert(key);
        true
    }
}

impl Minute {
    /// Forgets the minute before, if it is over.
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
        // The last network is the largest: a subscriber with many small ones is new only once.
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
