//! Records sign-ins and refusals, in the background.
//!
//! Sign-ins and refusals get a line in the log, except for some refusals in a flood. In a flood,
//! not every event gets a row in the record. Refusals without a row are counted, and their number
//! is recorded a minute after the first of them.

use crate::{
    audit::{self, Entry, SignInRows, UnrecordedRefusal},
    store::UserStore,
    tokens::TokenBearer,
    user::User,
};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, sleep_until};

/// The time for which refusals without a row are counted before their number is recorded.
const COUNTING_TIME: Duration = Duration::from_mins(1);

/// Records sign-ins and refusals. Clones share the limits for floods and the counts of refusals.
#[derive(Clone)]
pub(crate) struct SignInRecorder {
    store: Arc<UserStore>,
    rows: Arc<SignInRows>,
}

impl SignInRecorder {
    pub(crate) fn new(store: Arc<UserStore>) -> Self {
        Self {
            store,
            rows: Arc::new(SignInRows::new()),
        }
    }

    /// Logs a sign-in with a correct password, and records it unless a flood has used up the rows.
    /// `method` is the purpose of the password check.
    pub(crate) fn record_login(&self, user: &User, method: &'static str) {
        let entry = audit::log_login(user, method);
        if self.rows.admit_sign_in(&entry) {
            self.store.enqueue_event(entry);
        }
    }

    /// Logs and records that a password or a code was wrong or not checked. `user` is `None` if the
    /// name is unknown or its user was not read.
    pub(crate) fn record_login_failure(
        &self,
        user: Option<&User>,
        method: &'static str,
        reason: &'static str,
    ) {
        self.record_refusal(audit::log_login_failure(user, method, reason));
    }

    /// Records the refusal of an API key; `key` is `None` if no such key is stored. A refusal with
    /// a row also has a line in the log, even if a flood has used up the lines of this minute.
    pub(crate) fn record_api_key_refusal(&self, key: Option<&TokenBearer>) {
        let refusal = audit::api_key_refusal(key);
        let is_line_due = audit::is_key_refusal_due(&refusal);
        let admission = self.rows.admit_refusal(&refusal);
        if is_line_due || admission.is_ok() {
            refusal.log();
        }
        self.record_if_admitted(refusal, admission);
    }

    /// Logs and records the refusal of a password link. `user` is `None` if no link was found.
    pub(crate) fn record_link_refusal(&self, user: Option<&User>, reason: &'static str) {
        self.record_refusal(audit::log_password_link_refusal(user, reason));
    }

    /// Records a refusal, or counts it if it gets no row because of a flood.
    fn record_refusal(&self, refusal: Entry) {
        let admission = self.rows.admit_refusal(&refusal);
        self.record_if_admitted(refusal, admission);
    }

    fn record_if_admitted(&self, refusal: Entry, admission: Result<(), UnrecordedRefusal>) {
        match admission {
            Ok(()) => self.store.enqueue_event(refusal),
            Err(unrecorded) => self.record_count_later(unrecorded),
        }
    }

    /// Counts a refusal that gets no row, because it is part of a flood.
    pub(crate) fn count_refusal(&self) {
        self.record_count_later(self.rows.count_refusal());
    }

    /// Makes sure that the number of refusals without a row is recorded a minute after the first,
    /// even if no other event follows.
    fn record_count_later(&self, refusal: UnrecordedRefusal) {
        if refusal == UnrecordedRefusal::Further {
            return;
        }
        let store = Arc::downgrade(&self.store);
        let rows = Arc::clone(&self.rows);
        let end = Instant::now() + COUNTING_TIME;
        tokio::spawn(async move {
            sleep_until(end).await;
            if let Some(store) = store.upgrade() {
                Self { store, rows }.record_refusal_count();
            }
        });
    }

    /// Records at once how many refusals got no row. The server calls this before it closes the
    /// store.
    pub(crate) fn record_refusal_count(&self) {
        if let Some(entry) = self.rows.take_unrecorded() {
            entry.log();
            self.store.enqueue_event(entry);
        }
    }
}
