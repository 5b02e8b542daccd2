//! Audit of API keys: their use and their refusal, once a minute for each key and client address.

use crate::{
    api_key::KeyBearer,
    audit::{self, Event},
};
use rolegate_telemetry::request_context::RequestContext;
use std::{
    collections::HashSet,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_mins(1);
/// A minute has this many lines at most, so that no flood fills the log or the memory.
const MAX_LINES: usize = 1000;
/// Likewise of unknown keys, which any client can present: they must not hide refusals of the others.
const MAX_UNKNOWN: usize = 60;

/// A key, if there is one, and the address that presented it. A call that reports none has no address.
type Caller = (Option<i64>, Option<IpAddr>);

/// What was recorded in this minute. Clones share it.
#[derive(Clone, Default)]
pub(super) struct KeyAudit(Arc<Mutex<Recorded>>);

#[derive(Default)]
struct Recorded {
    since: Option<Instant>,
    uses: HashSet<Caller>,
    refusals: HashSet<Caller>,
}

impl KeyAudit {
    /// Records the use of a good key.
    pub(super) fn used(&self, key: &KeyBearer) {
        let caller = (Some(key.key_id), RequestContext::client_address());
        if self.is_first(|recorded| &mut recorded.uses, MAX_LINES, caller) {
            audit::record(Event::ApiKeyUsed { user: &key.user, key_id: key.key_id });
        }
    }

    /// Records the refusal of a key; `None` for an unknown one.
    pub(super) fn refused(&self, key: Option<&KeyBearer>) {
        let caller = (key.map(|key| key.key_id), RequestContext::client_address());
        let limit = if key.is_some() { MAX_LINES } else { MAX_UNKNOWN };
        if self.is_first(|recorded| &mut recorded.refusals, limit, caller) {
            audit::record(Event::ApiKeyRefused { key });
        }
    }

    fn is_first(
        &self,
        callers: impl FnOnce(&mut Recorded) -> &mut HashSet<Caller>,
        limit: usize,
        caller: Caller,
    ) -> bool {
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if recorded.since.is_none_or(|since| since.elapsed() >= MINUTE) {
            *recorded = Recorded { since: Some(Instant::now()), ..Recorded::default() };
        }
        let callers = callers(&mut recorded);
        callers.len() < limit && callers.insert(caller)
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyAudit, MAX_LINES, MAX_UNKNOWN};

    #[test]
    fn a_minute_has_one_line_for_each_caller_and_a_limit() {
        let audit = KeyAudit::default();
        let refused = |id| {
            let caller = (Some(id), None);
            audit.is_first(|recorded| &mut recorded.refusals, MAX_UNKNOWN, caller)
        };
        assert!(refused(0) && !refused(0));
        let recorded = (1..1000).filter(|&id| refused(id)).count();
        assert_eq!(recorded, MAX_UNKNOWN - 1);
        let known = (Some(-1), None);
        assert!(audit.is_first(|recorded| &mut recorded.refusals, MAX_LINES, known), "not hidden");
        assert!(audit.is_first(|recorded| &mut recorded.uses, 1, (Some(0), None)), "not shared");
        let earlier = std::time::Instant::now().checked_sub(super::MINUTE);
        audit.0.lock().expect("not poisoned").since = earlier;
        assert!(refused(0), "the next minute");
    }
}
