//! Limits searches for users. A search can read all users, so each admin may run only one at a time
//! on each replica.

use super::error::AccountError;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

/// The last search of each admin, by the admin's id. The `Weak` can be upgraded while the search
/// runs.
#[derive(Default)]
pub(super) struct Searches {
    last: Mutex<HashMap<i64, Weak<()>>>,
}

/// A search of an admin, which counts as running until this value is dropped.
pub(super) struct RunningSearch {
    _alive: Arc<()>,
}

impl Searches {
    /// Begins a search, or refuses it while another search of this admin runs.
    pub(super) fn begin(&self, admin_id: i64) -> Result<RunningSearch, AccountError> {
        let mut searches = self.last.lock();
        let last = searches.entry(admin_id).or_default();
        if last.strong_count() > 0 {
            return Err(AccountError::overloaded(Duration::from_secs(1)));
        }
        let alive = Arc::new(());
        *last = Arc::downgrade(&alive);
        Ok(RunningSearch { _alive: alive })
    }
}
