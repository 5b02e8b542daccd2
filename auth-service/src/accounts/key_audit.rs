//! Audit of API keys: their use and their refusal, once a minute for each key and client address.

use crate::{api_key::KeyBearer, audit};
use rolegate_telemetry::{log_once::LogOnce, request_context::RequestContext};
use std::{net::IpAddr, time::Duration};

const MINUTE: Duration = Duration::from_mins(1);
/// A minute has this many lines at most, so that no flood fills the log or the memory.
const MAX_LINES: usize = 1000;
/// Likewise of unknown keys, which any client can present: they must not hide refusals of the others.
const MAX_UNKNOWN: usize = 60;

/// The address that presented a key. A call that reports none has no address.
type Client = Option<IpAddr>;

/// What was recorded in this minute.
#[derive(Debug)]
pub(super) struct KeyAudit {
    uses: LogOnce<(i64, Client)>,
    refusals: LogOnce<(i64, Client)>,
    unknown: LogOnce<Client>,
}

impl KeyAudit {
    pub(super) const fn new() -> Self {
        Self {
            uses: LogOnce::at_most(MAX_LINES, MINUTE),
            refusals: LogOnce::at_most(MAX_LINES, MINUTE),
            unknown: LogOnce::at_most(MAX_UNKNOWN, MINUTE),
        }
    }

    /// Records the use of a good key.
    pub(super) fn used(&self, key: &KeyBearer) {
        if self.uses.is_due((key.key_id, RequestContext::client_address())) {
            audit::api_key_used(key);
        }
    }

    /// Records the refusal of a key; `None` for an unknown one.
    pub(super) fn refused(&self, key: Option<&KeyBearer>) {
        let client = RequestContext::client_address();
        let is_due = match key {
            Some(key) => self.refusals.is_due((key.key_id, client)),
            None => self.unknown.is_due(client),
        };
        if is_due {
            audit::api_key_refused(key);
        }
    }
}
