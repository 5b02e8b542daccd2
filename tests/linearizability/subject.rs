//! A user whose credentials grant one thing after another, and the readers of that user.
//!
//! `credentials` changes the role and the credentials of a user, and `memberships` a membership.

mod credentials;
mod memberships;

pub(crate) use credentials::CredentialSubject;
pub(crate) use memberships::{MEMBER, MembershipSubject, STRANGER, UNKNOWN_GROUP};

use crate::{
    history::{Change, Checked, Read, check, record},
    source::Source,
};
use std::{
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};
use tokio::{sync::Semaphore, task::JoinSet};

/// How many reads of a user begin between two changes. There are so many that most reads have one
/// valid state.
const READS_BETWEEN_CHANGES: u32 = 25;

/// The kinds of credentials that readers present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AccessToken,
    Session,
    ApiKey,
    Password,
}

impl Kind {
    /// Returns the name of this kind in the recorded history.
    fn name(self) -> &'static str {
        match self {
            Self::AccessToken => "access token",
            Self::Session => "session",
            Self::ApiKey => "API key",
            Self::Password => "password",
        }
    }
}

/// A credential, as a reader presents it.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(crate) kind: Kind,
    pub(crate) username: String,
    /// The token, the key or the password.
    pub(crate) secret: String,
}

/// A user who is changed, in one way or another.
pub(crate) trait Subject: Send + 'static {
    /// Returns a name for the user in the recorded history.
    fn name(&self) -> &str;

    /// Makes one change, and waits until it is acknowledged.
    fn change(&mut self, turn: usize) -> impl Future<Output = Changed> + Send;
}

/// An acknowledged change.
pub(crate) struct Changed {
    /// A moment before the change.
    began: Instant,
    effects: Vec<(Kind, Effect)>,
}

/// The effect of a change on one of the credentials.
pub(crate) enum Effect {
    Grants(&'static str),
    /// Another credential of the same kind takes its place, and grants `state`.
    Replaced {
        secret: String,
        state: &'static str,
    },
}

/// The state that the writer and the readers of a user share.
struct Readers {
    /// The current credentials, which readers use in turns, and the index of the history of each in
    /// [`Scenario::histories`].
    credentials: Mutex<Vec<(Credential, usize)>>,
    /// Counts the reads that began after the last change was acknowledged.
    reads_since_change: Semaphore,
    changes_done: AtomicUsize,
    stop: AtomicBool,
}

/// The changes of a credential.
struct History {
    kind: Kind,
    changes: Vec<Change>,
}

/// Changes a user, and checks what readers receive meanwhile.
pub(crate) struct Scenario<S> {
    subject: S,
    /// The history of each credential that the user ever had.
    histories: Vec<History>,
    readers: Arc<Readers>,
}

impl Readers {
    fn credentials(&self) -> MutexGuard<'_, Vec<(Credential, usize)>> {
        self.credentials.lock().expect("nothing panics with it")
    }

    /// Returns one of the credentials that can be presented to this source, and the index of its
    /// history.
    fn credential(&self, source: &Source, turn: usize) -> (Credential, usize) {
        let credentials = self.credentials();
        let accepted: Vec<_> = credentials
            .iter()
            .filter(|(credential, _)| source.accepts(credential.kind))
            .collect();
        accepted[turn % accepted.len()].clone()
    }

    /// Reads until stopped. Returns each read with the index of its history.
    ///
    /// A reader that panics closes the semaphore, so that the writer does not wait for its reads.
    async fn read(self: Arc<Self>, source: Source) -> Vec<(usize, Read)> {
        let closer = CloseOnPanic(&self.reads_since_change);
        let mut reads = Vec::new();
        while !self.stop.load(Ordering::SeqCst) {
            let generation = self.changes_done.load(Ordering::SeqCst);
            let (credential, number) = self.credential(&source, reads.len());
            let began = Instant::now();
            let state = source.read(&credential).await;
            let ended = Instant::now();
            let read = Read {
                began,
                ended,
                state,
            };
            reads.push((number, read));
            if generation == self.changes_done.load(Ordering::SeqCst) {
                self.reads_since_change.add_permits(1);
            }
        }
        drop(closer);
        reads
    }
}

impl<S: Subject> Scenario<S> {
    /// Prepares the scenario of a user whose credentials all grant `state`.
    fn new(subject: S, credentials: Vec<Credential>, state: &'static str) -> Self {
        let now = Instant::now();
        let first = Change {
            began: now,
            acknowledged: Some(now),
            state,
        };
        let histories = credentials
            .iter()
            .map(|credential| History {
                kind: credential.kind,
                changes: vec![first.clone()],
            })
            .collect();
        let credentials = credentials.into_iter().zip(0..).collect();
        let readers = Readers {
            credentials: Mutex::new(credentials),
            reads_since_change: Semaphore::new(0),
            changes_done: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        Self {
            subject,
            histories,
            readers: Arc::new(readers),
        }
    }

    /// Makes changes until there are enough reads, and then checks the reads.
    pub(crate) async fn run(mut self, sources: Vec<Source>, wanted: usize) -> Checked {
        let mut reading = JoinSet::new();
        for source in sources {
            reading.spawn(Arc::clone(&self.readers).read(source));
        }
        let turns = wanted.div_ceil(READS_BETWEEN_CHANGES as usize) + 1;
        for turn in 0..turns {
            let permits = self
                .readers
                .reads_since_change
                .acquire_many(READS_BETWEEN_CHANGES)
                .await;
            permits.expect("a reader panicked").forget();
            let changed = self.subject.change(turn).await;
            self.record(changed);
            self.readers.changes_done.fetch_add(1, Ordering::SeqCst);
            // Reads concurrent with this change do not count towards the next one.
            self.readers
                .reads_since_change
                .forget_permits(usize::MAX >> 4);
        }
        self.readers.stop.store(true, Ordering::SeqCst);
        let mut reads = vec![Vec::new(); self.histories.len()];
        while let Some(of_reader) = reading.join_next().await {
            for (number, read) in of_reader.expect("no reader panicked") {
                reads[number].push(read);
            }
        }
        self.check(turns, &reads)
    }

    /// Checks the reads of each credential against its history.
    fn check(&self, changes: usize, reads: &[Vec<Read>]) -> Checked {
        let mut checked = Checked {
            changes,
            ..Checked::default()
        };
        for (number, (history, reads)) in self.histories.iter().zip(reads).enumerate() {
            let credential = format!("{} {number}", self.subject.name());
            record(&credential, history.kind.name(), &history.changes, reads);
            checked.add(check(&history.changes, reads));
        }
        checked
    }

    fn record(&mut self, changed: Changed) {
        let now = Instant::now();
        let acknowledged = Some(now);
        let mut credentials = self.readers.credentials();
        for (kind, effect) in changed.effects {
            let (credential, number) = credentials
                .iter_mut()
                .find(|(credential, _)| credential.kind == kind)
                .expect("the user has one of this kind");
            match effect {
                Effect::Grants(state) => self.histories[*number].changes.push(Change {
                    began: changed.began,
                    acknowledged,
                    state,
                }),
                Effect::Replaced { secret, state } => {
                    credential.secret = secret;
                    *number = self.histories.len();
                    let first = Change {
                        began: now,
                        acknowledged,
                        state,
                    };
                    self.histories.push(History {
                        kind,
                        changes: vec![first],
                    });
                }
            }
        }
    }
}

struct CloseOnPanic<'a>(&'a Semaphore);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}
