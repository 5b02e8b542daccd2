//! Checks that came out right, remembered for a while: what makes HTTP Basic affordable.
//!
//! Whether a password is right is a pure function of the stored hash and the password. Each request
//! still reads the stored hash; what is remembered is a keyed digest over name, stored hash and
//! password, so a changed hash misses by construction, and there is nothing to invalidate. The key
//! is random and lives in this process only. Failures are never remembered.

mod recent;
mod tag;
mod under_way;

use recent::Recent;
pub(crate) use tag::Tag;
use tag::TagKey;
use under_way::UnderWay;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// Remembers right checks, and lets identical checks that run at the same time be one. Clones share
/// the memory.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Parts>);

struct Parts {
    key: TagKey,
    recent: Recent,
    under_way: UnderWay,
}

impl Memory {
    /// Remembers for `lifetime`; zero remembers nothing.
    pub(crate) fn new(lifetime: Duration) -> Result<Self, getrandom::Error> {
        let key = TagKey::random()?;
        let recent = Recent::new(lifetime);
        Ok(Self(Arc::new(Parts { key, recent, under_way: UnderWay::default() })))
    }

    /// What stands for this check. `stored` is `None` for a name that nobody has.
    pub(crate) fn tag(&self, username: &str, stored: Option<&str>, password: &str) -> Tag {
        self.0.key.tag(username, stored, password)
    }

    /// Whether this check came out right lately.
    pub(crate) fn knows(&self, tag: &Tag, now: Instant) -> bool {
        self.0.recent.contains(tag, now)
    }

    /// This check came out right.
    pub(crate) fn learn(&self, tag: Tag, now: Instant) {
        self.0.recent.insert(tag, now);
    }

    /// Runs a check, or waits for the same one that is under way. A tag holds the name, so checks
    /// of two names are never one: sharing the stand-in's work would tell who does not exist.
    pub(crate) async fn once<E>(
        &self,
        tag: Tag,
        check: impl Future<Output = Result<bool, E>>,
    ) -> Result<bool, E> {
        self.0.under_way.once(tag, check).await
    }
}
