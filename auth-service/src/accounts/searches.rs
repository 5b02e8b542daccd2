//! Limits searches for users: an admin has one at a time, because it reads all users.

use super::error::AccountError;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

/// The last search of each admin, by id: alive while it runs.
#[derive(Default)]
pub(super) struct Searches {
    last: Mutex<HashMap<i64, Weak<()>>>,
}

/// A search, which runs until this is dropped.
pub(super) struct RunningSearch {
    _alive: Arc<()>,
}

impl Searches {
    /// Refuses a second search of an admin while one runs.
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
